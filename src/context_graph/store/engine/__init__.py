"""Opens, reads and writes RocksDB, and classifies its failures. Knows no record. Start reading at
`engine`.
"""
