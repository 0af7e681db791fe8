// Reads a request body within its size limit and parses JSON, YAML or protobuf. Reports duplicate fields, because
// fieldValidation=Strict must refuse them.
import type { IncomingMessage } from 'node:http';
import { requestEntityTooLarge, unsupportedMediaType } from '../../object/meta/status.ts';
import { GatheredBytes } from '../../object/text/gathered-bytes.ts';
import { isRecord } from '../../object/text/json.ts';
import { expansionFault, isTooDeep, maxDepth } from '../../object/text/nesting.ts';
import { yamlFault } from '../../object/text/yaml-fault.ts';
import type { ObjectLimits } from '../kinds/object-limits.ts';
import { type ProtobufReader, protobufType } from '../kinds/protobuf-body.ts';
import { badRequest, StatusFault } from '../request/status-fault.ts';
import { duplicateFields } from './duplicate-fields.ts';

const objectTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'] as const;

export function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limitBytes) return Promise.reject(bodyTooLarge(limitBytes));
  // No event comes any more from a request that broke off while its sender was being authenticated.
  if (request.destroyed) return Promise.reject(bodyCut());
  return new Promise((resolve, reject) => {
    const body = new GatheredBytes();
    let isTooLarge = false;
    const cut = () => reject(bodyCut());
    request.on('data', (chunk: Buffer) => {
      // Reading to the end lets the client receive the refusal; a closed connection would hide it.
      if (isTooLarge) return;
      isTooLarge = body.size + chunk.length > limitBytes;
      if (!isTooLarge) body.add(chunk);
      else reject(bodyTooLarge(limitBytes));
    });
    request.once('end', () => {
      request.off('close', cut);
      resolve(body.take());
    });
    // A hang-up and a chunk without a size are mistakes of the client.
    request.once('error', cut);
    request.once('close', cut);
  });
}

function bodyCut() {
  return badRequest('the connection was closed before the whole body had arrived');
}

function bodyTooLarge(limitBytes: number) {
  return new StatusFault(requestEntityTooLarge(`limit is ${limitBytes}`));
}

/** The media type without its parameters, lower case. */
export function mediaTypeOf(request: IncomingMessage): string {
  const header = request.headers['content-type'] ?? '';
  const end = header.indexOf(';');
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

export interface ParsedBody {
  value: unknown;
  /** A sentence for each field that occurs twice in its map. */
  duplicates: string[];
}

/** Chooses the format by media type; without a media type, text that begins with `{` is JSON and other text is YAML. */
export async function parseObjectBody(
  body: Buffer,
  mediaType: string,
  more: { kind?: string; protobuf: ProtobufReader | undefined; limits: Pick<ObjectLimits, 'bodyBytes'> },
): Promise<ParsedBody> {
  if (mediaType === protobufType && more.protobuf !== undefined) {
    return { value: more.protobuf.read(body), duplicates: [] };
  }
  const { kind } = more;
  const text = body.toString('utf8');
  if (mediaType === 'application/json' || (mediaType === '' && /^\s*\{/.test(text))) return parseJsonText(text, kind);
  if (mediaType === 'application/yaml' || mediaType === 'text/yaml' || mediaType === '')
    return parseYamlText(text, more.limits);
  throw new StatusFault(unsupportedMediaType(objectTypes));
}

/** `kind` is the expected kind, for the message. */
function parseJsonText(text: string, kind?: string): ParsedBody {
  if (isTooDeep(text)) throw nestedTooDeep();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const shown = text === '' ? '<empty>' : text.slice(0, 100);
    const why = error instanceof Error ? error.message : String(error);
    const opening = kind === undefined ? '' : `the object provided is unrecognized (must be of type ${kind}): `;
    const message = `${opening}couldn't get version/kind; json parse error: ${why} (${shown})`;
    throw badRequest(message, `the body: ${text === '' ? 'want an object, found nothing' : notJson(why)}`);
  }
  // Compact JSON with a duplicate is longer than its parsed value, so an equal length rules duplicates out without a scan.
  const isCompact = JSON.stringify(value)?.length === text.length;
  return { value, duplicates: isCompact ? [] : duplicateFields(text).map((field) => `duplicate field "${field}"`) };
}

/** Without the text around the fault, in which a secret may be. */
export function notJson(why: string): string {
  const [, position] = /at position (\d+)/.exec(why) ?? [];
  return `want valid JSON${position === undefined ? '' : `, found a fault at character ${position}`}`;
}

export function nestedTooDeep(): StatusFault {
  return badRequest(`the document nests too deep: the limit is ${maxDepth} levels`);
}

/** More than a hand-written document needs. Even so few can name each other, so the length with aliases has a limit too. */
const maxAliases = 100;

export async function parseYamlText(text: string, { bodyBytes }: Pick<ObjectLimits, 'bodyBytes'>): Promise<ParsedBody> {
  const { load, CORE_SCHEMA, mergeTag } = await import('js-yaml');
  // Without merge keys, a scope that a document merges into its spec would be dropped as an unknown field.
  const schema = CORE_SCHEMA.withTags(mergeTag);
  const duplicates: string[] = [];
  const value = loadedYaml(text, (read) => {
    try {
      return load(read, { maxAliases, schema });
    } catch (error) {
      const duplicate = duplicateKey(error, read);
      if (duplicate === undefined) throw error;
      duplicates.push(duplicate);
      // The last one wins, as in JSON.
      return load(read, { maxAliases, schema, json: true });
    }
  });
  const fault = expansionFault(value, bodyBytes);
  if (fault === 'too deep') throw nestedTooDeep();
  if (fault === 'too long')
    throw badRequest(`yaml: with its aliases written out the document is longer than ${bodyBytes} bytes`);
  return { value, duplicates };
}

/** The real server's sentence about the first duplicate; the parser reports only the first. */
function duplicateKey(error: unknown, text: string): string | undefined {
  if (!isRecord(error) || error['reason'] !== 'duplicated mapping key' || !isRecord(error['mark'])) return undefined;
  const { line, position } = error['mark'];
  const [key = ''] = /^[^:\n]{1,100}/.exec(text.slice(Number(position), Number(position) + 101)) ?? [];
  return `line ${Number(line) + 1}: key "${key.trim().replace(/^["']|["']$/g, '')}" already set in map`;
}

function loadedYaml(text: string, load: (text: string) => unknown): unknown {
  try {
    return load(text);
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) throw nestedTooDeep();
    const { place, sentence } = yamlFault(error);
    const where = place === undefined ? '' : ` line ${place.line}, column ${place.column}:`;
    throw badRequest(`yaml:${where} ${sentence}`);
  }
}

/**
 * Refuses a body in a transfer encoding other than chunks: the parser of HTTP takes "gzip, chunked" and leaves the rest undone, so that
 * two readers would see two bodies.
 */
export function refuseEncodedBody({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const { 'transfer-encoding': encoding = 'chunked' } = headers;
  if (encoding.toLowerCase() === 'chunked') return;
  throw badRequest(
    `send the body with "Transfer-Encoding: chunked" or with its length, found "${encoding.slice(0, 60)}"`,
  );
}
