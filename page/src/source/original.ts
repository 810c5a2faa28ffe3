/** The file that a document was read from, as bytes; the server sends it only as it was when it was read. */
import { send } from "../api/client";

export async function originalOf(id: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await send(`/documents/${encodeURIComponent(id)}/original`, { signal })).arrayBuffer();
}

export function saveAs(name: string, content: BlobPart, type = "application/octet-stream"): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export async function saveOriginal(row: { id: string; file: string }): Promise<void> {
  saveAs(row.file || "original", await originalOf(row.id));
}
