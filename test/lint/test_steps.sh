#!/bin/sh
# lint runs every step although the first fails, and says so.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
cp -r "$root/tools" "$tree/tools"
cp "$root/.clang-format" "$tree"
echo 'int   x;' | write src/base/x.c
echo '```arrows
src/base -> nothing
```' | write docs/architecture.md

fails 'src/base/x.c:1:' "$tree/tools/lint.sh"
for step in format tidy cppcheck layers headers calls seed-map walk openings names words shell; do
    case $said in
    *"lint: $step "*) ;;
    *) die "no step $step: $said" ;;
    esac
done
for line in 'lint: format failed' 'lint: tidy failed' 'lint: layers ok' 'lint: failed: format tidy'; do
    case $said in
    *"$line"*) ;;
    *) die "does not say '$line': $said" ;;
    esac
done

# One step alone, and a step that does not exist.
fails 'lint: failed: format' "$tree/tools/lint.sh" format
case $said in
*"lint: tidy"*) die "format alone ran tidy: $said" ;;
esac
fails "there is no step 'colour'" "$tree/tools/lint.sh" colour
