// Reads a whole text, such as the objects for `render`, from a file or standard input. A device such as /dev/zero and some pipes
// have no end, so reading stops at a limit.
import { createReadStream } from 'node:fs';
import { CommandFault, exitCodes } from './context.ts';

/** Far more than `kubectl get endpoints -A -o yaml` prints for 10,000 objects, and little enough for one string. */
const maxTextBytes = 256_000_000;

export async function readText(path: string, maxBytes = maxTextBytes): Promise<string> {
  try {
    return await textOf(createReadStream(path), `"${path}"`, maxBytes);
  } catch (fault) {
    // An error while reading does not name the file.
    if (fault instanceof Error && 'code' in fault) Object.assign(fault, { path });
    throw fault;
  }
}

export async function textOf(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  maxBytes = maxTextBytes,
): Promise<string> {
  const found: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    found.push(chunk);
    length += chunk.length;
    if (length > maxBytes) {
      const limit = `${maxBytes / 1_000_000} MB`;
      const message = `wanted ${limit} of text at most, found more in ${name}; split the text into several files`;
      throw new CommandFault(exitCodes.input, message);
    }
  }
  return Buffer.concat(found).toString('utf8');
}
