#!/bin/sh
# Runs a command with the software Vulkan driver allowed where setup.sh found no GPU with a driver.
[ -e "$(dirname "$0")/../.venv/.software" ] && export TFVK_ALLOW_SOFTWARE="${TFVK_ALLOW_SOFTWARE:-1}"
exec "$@"
