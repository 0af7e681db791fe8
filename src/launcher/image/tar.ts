// Tar archives as values: reads the ones that dpkg-deb prints, and writes one whose bytes depend on its files alone.

/** A file, folder or symbolic link of an archive. Paths have no leading or trailing slash. */
export interface TarEntry {
  readonly path: string;
  readonly mode: number;
  readonly content:
    | { readonly kind: 'file'; readonly bytes: Uint8Array }
    | { readonly kind: 'folder' }
    | { readonly kind: 'link'; readonly target: string };
}

/** An entry that is a file. */
export function file(path: string, bytes: Uint8Array | string, mode = 0o644): TarEntry {
  return { path, mode, content: { kind: 'file', bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes } };
}

const blockBytes = 512;
// What a name field and a prefix field of a header hold, in bytes.
const nameBytes = 100;
const prefixBytes = 155;

const typeFlags = { file: '0', link: '2', folder: '5' } as const;

/** Writes the entries sorted by path, all owned by root and dated `seconds`. The same entries give the same bytes. */
export function writeTar(entries: readonly TarEntry[], seconds: number): Uint8Array {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const blocks: Uint8Array[] = [];
  for (const entry of sorted) {
    const bytes = entry.content.kind === 'file' ? entry.content.bytes : new Uint8Array();
    blocks.push(header(entry, bytes.length, seconds), bytes, new Uint8Array(padding(bytes.length)));
  }
  // Two empty blocks end an archive.
  return Buffer.concat([...blocks, new Uint8Array(2 * blockBytes)]);
}

function header({ path, mode, content }: TarEntry, size: number, seconds: number): Uint8Array {
  const block = Buffer.alloc(blockBytes);
  const { prefix, name } = splitPath(content.kind === 'folder' ? `${path}/` : path);
  block.write(name, 0);
  block.write(`${octal(mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size, 11)}\0${octal(seconds, 11)}\0`, 100);
  block.write(' '.repeat(8), 148);
  block.write(typeFlags[content.kind], 156);
  if (content.kind === 'link') {
    if (Buffer.byteLength(content.target) > nameBytes) throw new Error(`link of "${path}" is too long for tar`);
    block.write(content.target, 157);
  }
  block.write('ustar\x0000', 257);
  block.write(prefix, 345);
  // The checksum is computed over a header whose checksum field holds spaces.
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= nameBytes) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at > 0 && at < path.length - 1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= nameBytes && Buffer.byteLength(prefix) <= prefixBytes) return { prefix, name };
  }
  throw new Error(`path "${path}" is too long for tar`);
}

function octal(value: number, digits: number): string {
  return Math.floor(value).toString(8).padStart(digits, '0');
}

function padding(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/** Reads an archive of dpkg-deb, or of npm. Hard links become copies, and other kinds of entries are an error. */
export function readTar(archive: Uint8Array): TarEntry[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const entries = new Map<string, TarEntry>();
  let long: { path?: string; link?: string } = {};
  for (let at = 0; at + blockBytes <= bytes.length && bytes[at] !== 0; ) {
    const block = bytes.subarray(at, at + blockBytes);
    const size = Number.parseInt(text(block, 124, 12), 8) || 0;
    const body = bytes.subarray(at + blockBytes, at + blockBytes + size);
    const flag = String.fromCharCode(block[156] ?? 0);
    at += blockBytes + size + padding(size);
    // GNU tar puts a long name or link into an entry of its own before the entry that it belongs to.
    if (flag === 'L') long = { ...long, path: text(body, 0, size) };
    else if (flag === 'K') long = { ...long, link: text(body, 0, size) };
    // Headers of POSIX tar hold times and owners; the archives that are read here have no long names in them.
    else if (flag !== 'x' && flag !== 'g') {
      const path = clean(long.path ?? pathOf(block));
      const target = long.link ?? text(block, 157, nameBytes);
      if (path !== '') entries.set(path, readEntry({ path, target, block, body, flag, entries }));
      long = {};
    }
  }
  return [...entries.values()];
}

interface Header {
  readonly path: string;
  readonly target: string;
  readonly block: Buffer;
  readonly body: Buffer;
  readonly flag: string;
  readonly entries: ReadonlyMap<string, TarEntry>;
}

function readEntry({ path, target, block, body, flag, entries }: Header): TarEntry {
  const mode = Number.parseInt(text(block, 100, 8), 8) & 0o7777;
  if (flag === '0' || flag === '\0') return { path, mode, content: { kind: 'file', bytes: body } };
  if (flag === '5') return { path, mode, content: { kind: 'folder' } };
  if (flag === '2') return { path, mode: 0o777, content: { kind: 'link', target } };
  const original = flag === '1' ? entries.get(clean(target)) : undefined;
  if (original === undefined)
    throw new Error(`"${path}" is an entry of the type "${flag}", wanted a file, folder or link`);
  return { ...original, path };
}

function pathOf(block: Buffer): string {
  const prefix = text(block, 257, 5) === 'ustar' && block[262] === 0 ? text(block, 345, prefixBytes) : '';
  return prefix === '' ? text(block, 0, nameBytes) : `${prefix}/${text(block, 0, nameBytes)}`;
}

function text(bytes: Buffer, at: number, length: number): string {
  const end = bytes.indexOf(0, at);
  return bytes.toString('utf8', at, end === -1 ? at + length : Math.min(end, at + length)).trim();
}

function clean(path: string): string {
  return path
    .replace(/^(\.?\/)+/, '')
    .replace(/^\.$/, '')
    .replace(/\/+$/, '');
}
