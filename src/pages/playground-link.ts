// The link that holds a whole case: version, then the texts as JSON, deflated, in base64url. It is in the fragment of an address, which
// a browser sends to no server. In: a case. Out: a text, and back. Runs in the browser and in the command, which have the same streams.
import { type PlaygroundCase, playgroundLimits, textNames } from './playground-api.ts';

/** Changes when the texts of a case get another form. */
const linkVersion = '1';

export type ReadLink =
  | { kind: 'case'; case: PlaygroundCase }
  /** `isCut`: a part of the link is probably missing. */
  | { kind: 'fault'; sentence: string; isCut: boolean };

export async function linkOf(given: PlaygroundCase): Promise<string> {
  const filled = Object.fromEntries(textNames.flatMap((name) => (given[name] ? [[name, given[name]]] : [])));
  const bytes = await piped(new TextEncoder().encode(JSON.stringify(filled)), new CompressionStream('deflate'));
  let binary = '';
  for (const byte of bytes as Uint8Array) binary += String.fromCharCode(byte);
  const text = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  return `${linkVersion}.${text}`;
}

export async function readLink(link: string): Promise<ReadLink> {
  const [version, text] = link.split('.', 2) as [string, string | undefined];
  if (text === undefined || !/^\d+$/.test(version)) return cut('the link holds no case; copy it again, as a whole');
  if (version !== linkVersion)
    return fault(
      `the link was made by another version of the playground (its form is ${version}, known here is ${linkVersion}); open it there`,
    );
  const bytes = bytesOf(text);
  const json = bytes && (await piped(bytes, new DecompressionStream('deflate')).catch(() => undefined));
  if (json === 'too long')
    return fault(`the case in the link is longer than ${playgroundLimits.bodyBytes} bytes; share a smaller one`);
  const value = json && parsed(json);
  if (value === undefined) return cut('the link is cut or changed; copy it again, as a whole');
  return { kind: 'case', case: value };
}

function fault(sentence: string): ReadLink {
  return { kind: 'fault', sentence, isCut: false };
}

function cut(sentence: string): ReadLink {
  return { kind: 'fault', sentence, isCut: true };
}

function bytesOf(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function parsed(bytes: Uint8Array): PlaygroundCase | undefined {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const texts = textNames.map((name) => [name, value[name] ?? '']);
    if (!texts.every(([, text]) => typeof text === 'string')) return undefined;
    return Object.fromEntries(texts) as unknown as PlaygroundCase;
  } catch {
    return undefined;
  }
}

/** Stops where the result gets too long, because a short link can unfold to gigabytes. */
async function piped(
  bytes: Uint8Array,
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array | 'too long'> {
  const writer = through.writable.getWriter();
  // The reader reports the fault too.
  writer.write(bytes as Uint8Array<ArrayBuffer>).catch(() => {});
  writer.close().catch(() => {});
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = through.readable.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    pieces.push(next.value);
    length += next.value.length;
    if (length > playgroundLimits.bodyBytes) {
      await reader.cancel();
      return 'too long';
    }
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
