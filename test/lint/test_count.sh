#!/bin/sh
# The closing line of `make test` counts what ctest printed.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"

write a.log <<'END'
 1/12 Test  #1: base/vec .........................   Passed    0.00 sec
 2/12 Test #10: base/text ........................***Failed    0.01 sec
a test that prints Passed 0.00 sec and ***Skipped
 3/12 Test  #3: lint/layers ......................***Skipped   0.00 sec
 4/12 Test  #4: base/gone ........................***Not Run   0.00 sec
 5/12 Test  #5: base/slow ........................***Timeout   1.00 sec
 6/12 Test  #6: base/crash .......................***Exception: SegFault  0.00 sec
 7/12 Test  #7: base/off .........................***Not Run (Disabled)   0.00 sec
50% tests passed, 3 tests failed out of 6
END
echo '1/1 Test #1: base/vec ....   Passed  120.00 sec' | write b.log
said=$("$root/tools/test.sh" --count "$tree/a.log" "$tree/b.log")
[ "$said" = "2 passed, 4 failed, 2 skipped" ] || die "$said"
