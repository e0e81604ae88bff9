"""Files that sessions exchange with people and other programs: sheets, and tasks and exports of Label Studio."""
