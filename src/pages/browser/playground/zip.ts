// Packs files into a zip archive without compression, for the download of a case. Pure.

export function zipOf(folder: string, files: Record<string, string>): Blob {
  const encoder = new TextEncoder();
  const bodies: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let at = 0;
  for (const [path, text] of Object.entries(files)) {
    const name = encoder.encode(`${folder}/${path}`);
    const bytes = encoder.encode(text);
    // Version 2.0, names in UTF-8, stored, 1980-01-01: the same case gives the same bytes.
    const shared = numbers(
      [20, 2],
      [0x800, 2],
      [0, 2],
      [0, 2],
      [0x21, 2],
      [crcOf(bytes), 4],
      [bytes.length, 4],
      [bytes.length, 4],
    );
    const local = joined(numbers([0x04034b50, 4]), shared, numbers([name.length, 2], [0, 2]), name, bytes);
    const rest = numbers([name.length, 2], [0, 2], [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]);
    entries.push(joined(numbers([0x02014b50, 4], [20, 2]), shared, rest, name));
    bodies.push(local);
    at += local.length;
  }
  const directory = joined(...entries);
  const count = entries.length;
  const end = numbers([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [directory.length, 4], [at, 4], [0, 2]);
  return new Blob([joined(...bodies, directory, end) as Uint8Array<ArrayBuffer>], { type: 'application/zip' });
}

/** Values and their sizes in bytes, the lowest byte first. */
function numbers(...fields: readonly [number, number][]): Uint8Array {
  return Uint8Array.from(
    fields.flatMap(([value, size]) => Array.from({ length: size }, (_, at) => (value >>> (8 * at)) & 0xff)),
  );
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function crcOf(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
