"""What would labelling have cost? Replays of active assessment on pools whose labels are all known."""
