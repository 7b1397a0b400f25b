"""What holds for all work inside a block, however deep: a ledger to charge, and how long there is patience."""
