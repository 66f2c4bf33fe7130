# `make demo` trains two small Keras models on the GPU; `make test` runs every check. Both set up what is missing first.
.PHONY: demo test test-windows setup pytest clean

demo:
	@scripts/setup.sh demo
	@scripts/with-device.sh .venv/bin/tfvk demo

test:
	@scripts/setup.sh test
	@scripts/with-device.sh cargo xtask ci
	@$(MAKE) --no-print-directory pytest

# The Python tests alone, on what setup has built; each folder in a process of its own, as they set TensorFlow up differently.
FOLDERS = python/tests tests/plugin tests/ops tests/programs
pytest:
	@failed=; for folder in $(FOLDERS); do \
		scripts/with-device.sh .venv/bin/python -m pytest -q $$folder || failed="$$failed $$folder"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# The device's and the ops' tests as Windows programs under Wine, on Debian 12; not part of `make test`.
test-windows:
	@scripts/test-windows.sh

setup:
	@scripts/setup.sh test

clean:
	rm -rf .venv dist target
