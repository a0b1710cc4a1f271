#!/bin/sh
# Ask before going on. Exit 0 is the first option; anything else, also a daemon that is down, is not a yes.
if git log -3 --oneline 2>/dev/null | yourcall ask "Deploy to production?" \
    --option yes --option no --body - --name deploy.sh --wait; then
  echo "deploying"
else
  echo "not deploying"
fi
