// Finds damage in a write-ahead log of SQLite before SQLite opens it. SQLite takes everything behind the first bad frame for the
// torn end of a crash and forgets it, even where acknowledged commits follow it. Pure: bytes in, a fault out. The format is that
// of https://www.sqlite.org/fileformat2.html#walformat.

const headerBytes = 32;
const frameHeaderBytes = 24;
const magicWithLittleEndianSums = 0x377f0682;
const magicWithBigEndianSums = 0x377f0683;

interface Sums {
  a: number;
  b: number;
}

/** Undefined for a log that is whole, or torn at its end as after a crash. */
export function walFault(wal: Buffer): string | undefined {
  if (wal.length < headerBytes || wal.subarray(0, headerBytes).every((byte) => byte === 0)) return undefined;
  const magic = wal.readUInt32BE(0);
  const isBig = magic === magicWithBigEndianSums;
  if (!isBig && magic !== magicWithLittleEndianSums) return 'the write-ahead log has no header of SQLite';
  const start = sumsOf(wal.subarray(0, 24), { a: 0, b: 0 }, isBig);
  if (start.a !== wal.readUInt32BE(24) || start.b !== wal.readUInt32BE(28))
    return 'the header of the write-ahead log is damaged';
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let sums = start;
  let at = headerBytes;
  for (; at + frameBytes <= wal.length; at += frameBytes) {
    const frame = wal.subarray(at, at + frameBytes);
    const next = sumsOf(frame.subarray(frameHeaderBytes), sumsOf(frame.subarray(0, 8), sums, isBig), isBig);
    const isGood =
      frame.subarray(8, 16).equals(salts) && next.a === frame.readUInt32BE(16) && next.b === frame.readUInt32BE(20);
    if (!isGood) break;
    sums = next;
  }
  return followsCommit(wal.subarray(at), frameBytes, salts) ? 'a frame of the write-ahead log is damaged' : undefined;
}

/**
 * Whether a commit follows the bad frame, and a frame of the same log follows that commit. A transaction begins only after the
 * commit before it is on the disk, so that no crash tears a frame in front of it.
 */
function followsCommit(rest: Buffer, frameBytes: number, salts: Buffer): boolean {
  let isBehindCommit = false;
  for (let at = 0; at + frameBytes <= rest.length; at += frameBytes) {
    const isOfThisLog = rest.subarray(at + 8, at + 16).equals(salts);
    if (isOfThisLog && isBehindCommit) return true;
    // The bad frame itself may be the commit.
    isBehindCommit ||= isOfThisLog && rest.readUInt32BE(at + 4) !== 0;
  }
  return false;
}

function sumsOf(bytes: Buffer, { a, b }: Sums, isBig: boolean): Sums {
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    const first = isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
    const second = isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4);
    a = (a + first + b) >>> 0;
    b = (b + second + a) >>> 0;
  }
  return { a, b };
}
