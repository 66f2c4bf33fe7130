"""Made-up adapters, as `tfvk_devices_json` would describe them."""

GPU = {"index": 0, "name": "Some GPU", "driver": "driver 1.2", "kind": "discrete", "usable": True, "visible": True, "why_not": None, "tensorflow_index": 0, "memory_bytes": 8 << 30}
SOFTWARE = {**GPU, "index": 1, "name": "llvmpipe", "kind": "software", "visible": False, "why_not": "A software driver: used only with TFVK_ALLOW_SOFTWARE=1.", "tensorflow_index": None}
REFUSED = {**SOFTWARE, "index": 2, "name": "SwiftShader", "usable": False, "why_not": "It lacks 8-bit storage."}
