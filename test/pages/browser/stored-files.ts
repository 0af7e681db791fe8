/** The files of a zip archive that is not compressed. */
export function storedFiles(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  for (let at = 0; archive.readUInt32LE(at) === 0x04034b50; ) {
    const [size, nameLength] = [archive.readUInt32LE(at + 18), archive.readUInt16LE(at + 26)];
    const body = at + 30 + nameLength;
    files.set(archive.toString('utf8', at + 30, body), archive.toString('utf8', body, body + size));
    at = body + size;
  }
  return files;
}
