DISKS = {}
