ATEN_OP = 'a\x41'
