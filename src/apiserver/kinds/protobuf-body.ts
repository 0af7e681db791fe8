// Reads protobuf bodies, because kubectl's create and auth commands send protobuf to every server. Answers stay JSON, which
// those clients also accept. In: bytes and the tenant's message definitions. Out: the same value as a JSON body.
import { isTooDeep, maxDepth as maxJsonDepth } from '../../object/text/nesting.ts';
import { badRequest } from '../request/status-fault.ts';

/** Full message name → fields of (number, JSON name, type). `[]` marks a list, `{}` a map with string keys. */
export type ProtobufTypes = Readonly<Record<string, readonly (readonly [number, string, string])[]>>;

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** The first four bytes of every Kubernetes protobuf body: `k8s` and a zero. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0]);

/** Deeper than any real message; keeps a hostile body from exhausting the stack. */
const maxDepth = 50;

export class ProtobufReader {
  #types: ProtobufTypes;

  constructor(types: ProtobufTypes) {
    this.#types = types;
  }

  /** The object inside the envelope, with kind and apiVersion, as JSON.parse would return it. */
  read(body: Buffer): Record<string, unknown> {
    if (!body.subarray(0, 4).equals(magic)) {
      throw badRequest('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
    }
    const { apiVersion = '', kind = '', raw } = this.#envelope(body.subarray(4));
    const name = this.#messageOf(apiVersion, kind);
    if (name === undefined) throw badRequest(`no kind "${kind}" is registered for version "${apiVersion}"`);
    return { kind, apiVersion, ...this.#message(raw, name, 0) };
  }

  #envelope(bytes: Buffer): { apiVersion?: string; kind?: string; raw: Buffer } {
    let raw: Buffer = Buffer.alloc(0);
    const type: { apiVersion?: string; kind?: string } = {};
    for (const { number, bytes: value } of fieldsOf(bytes)) {
      if (number === 2) raw = value;
      if (number !== 1) continue;
      for (const inner of fieldsOf(value)) {
        if (inner.number === 1) type.apiVersion = inner.bytes.toString();
        if (inner.number === 2) type.kind = inner.bytes.toString();
      }
    }
    return { ...type, raw };
  }

  /** DeleteOptions may carry the apiVersion of any group, so only the kind counts. */
  #messageOf(apiVersion: string, kind: string): string | undefined {
    if (kind === 'DeleteOptions') return 'k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions';
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? 'core' : (apiVersion.slice(0, slash).split('.')[0] as string);
    const name = `k8s.io.api.${group}.${apiVersion.slice(slash + 1)}.${kind}`;
    return Object.hasOwn(this.#types, name) ? name : undefined;
  }

  #message(bytes: Buffer, name: string, depth: number): Record<string, unknown> {
    if (depth > maxDepth) throw badRequest(`read the body: the message has more than ${maxDepth} levels`);
    const known = this.#types[name] ?? [];
    const result: Record<string, unknown> = {};
    for (const field of fieldsOf(bytes)) {
      const definition = known.find(([number]) => number === field.number);
      if (definition === undefined) continue;
      const [, jsonName, type] = definition;
      const mark = type.slice(0, 2);
      if (mark === '[]') {
        const list = (result[jsonName] ?? []) as unknown[];
        list.push(this.#value(field, type.slice(2), depth));
        result[jsonName] = list;
      } else if (mark === '{}') {
        const [key, value] = this.#entry(field.bytes, type.slice(2), depth);
        const map = (result[jsonName] ?? {}) as Record<string, unknown>;
        Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
        result[jsonName] = map;
      } else if (jsonName === '') {
        Object.assign(result, this.#message(field.bytes, type, depth + 1));
      } else {
        result[jsonName] = this.#value(field, type, depth);
      }
    }
    return result;
  }

  #entry(bytes: Buffer, type: string, depth: number): [string, unknown] {
    let key = '';
    let value: unknown = type === 'bytes' || type === 'string' ? '' : {};
    for (const field of fieldsOf(bytes)) {
      if (field.number === 1) key = field.bytes.toString();
      if (field.number === 2) value = this.#value(field, type, depth);
    }
    return [key, value];
  }

  #value(field: WireField, type: string, depth: number): unknown {
    switch (type) {
      case 'string':
        return field.bytes.toString();
      case 'bytes':
        return field.bytes.toString('base64');
      case 'bool':
        return field.number64 !== 0n;
      case 'int32':
      case 'int64':
        return Number(BigInt.asIntN(64, field.number64));
      case 'time':
        return timeText(field.bytes, 0);
      case 'microTime':
        return timeText(field.bytes, 6);
      case 'quantity':
        return fieldsOf(field.bytes)[0]?.bytes.toString() ?? '0';
      case 'intOrString':
        return intOrString(field.bytes);
      case 'strings':
        return fieldsOf(field.bytes).map(({ bytes }) => bytes.toString());
      case 'json':
        return jsonIn(fieldsOf(field.bytes)[0]?.bytes ?? noBytes);
      default:
        return this.#message(field.bytes, type, depth + 1);
    }
  }
}

/** Null for an empty message and for Go's zero time, which both mean that the time is not set. */
function timeText(bytes: Buffer, digits: number): string | null {
  let seconds = 0;
  let nanos = 0;
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) seconds = Number(BigInt.asIntN(64, field.number64));
    if (field.number === 2) nanos = Number(BigInt.asIntN(64, field.number64));
  }
  if (bytes.length === 0 || seconds === zeroTimeSeconds) return null;
  const moment = new Date(seconds * 1000);
  if (Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999)
    throw badRequest(`read the body: a time of ${seconds} s since 1970 is no date of the years up to 9999`);
  const whole = moment.toISOString().slice(0, 19);
  const fraction = digits === 0 ? '' : `.${String(Math.floor(nanos / 1000)).padStart(digits, '0')}`;
  return `${whole}${fraction}Z`;
}

function jsonIn(bytes: Buffer): unknown {
  const text = bytes.length === 0 ? '{}' : bytes.toString();
  if (isTooDeep(text)) throw badRequest(`read the body: JSON in the message has more than ${maxJsonDepth} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('read the body: a field of the message should be JSON, and is not');
  }
}

/** Go's zero time, the first of January of the year one. */
const zeroTimeSeconds = -62_135_596_800;

function intOrString(bytes: Buffer): string | number {
  const fields = fieldsOf(bytes);
  const isText = fields.some(({ number, number64 }) => number === 1 && number64 === 1n);
  const chosen = fields.find(({ number }) => number === (isText ? 3 : 2));
  if (isText) return chosen?.bytes.toString() ?? '';
  return Number(BigInt.asIntN(64, chosen?.number64 ?? 0n));
}

interface WireField {
  number: number;
  number64: bigint;
  bytes: Buffer;
}

const noBytes = Buffer.alloc(0);

function fieldsOf(bytes: Buffer): WireField[] {
  const fields: WireField[] = [];
  const cursor = { bytes, at: 0 };
  while (cursor.at < bytes.length) {
    const key = Number(varint(cursor));
    const number = key >>> 3;
    switch (key & 7) {
      case 0:
        fields.push({ number, number64: varint(cursor), bytes: noBytes });
        break;
      case 1:
        fields.push({ number, number64: 0n, bytes: take(cursor, 8) });
        break;
      case 2:
        fields.push({ number, number64: 0n, bytes: take(cursor, Number(varint(cursor))) });
        break;
      case 5:
        fields.push({ number, number64: 0n, bytes: take(cursor, 4) });
        break;
      default:
        throw badRequest(`read the body: protobuf wire type ${key & 7} is not supported`);
    }
  }
  return fields;
}

interface Cursor {
  bytes: Buffer;
  at: number;
}

function take(cursor: Cursor, length: number): Buffer {
  const end = cursor.at + length;
  if (end > cursor.bytes.length) throw badRequest('read the body: the protobuf message is cut off');
  const taken = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return taken;
}

function varint(cursor: Cursor): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = cursor.bytes[cursor.at++];
    if (byte === undefined) break;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return value;
  }
  throw badRequest('read the body: a protobuf number is cut off');
}
