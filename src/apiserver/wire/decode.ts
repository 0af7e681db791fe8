// Decodes a client's JSON by the schema of the kind: drops and reports unknown fields, reads null as absent. A value of the
// wrong type refuses the object at once, or is collected, so that one answer can list every fault.
import { type FieldError, wrongTypeValue } from '../../object/meta/field-error.ts';
import { isRecord, setMember } from '../../object/text/json.ts';
import type { Node, Scalar } from '../kinds/schema.ts';
import { badRequest } from '../request/status-fault.ts';
import { timeFault } from './time-text.ts';

/** Paths are written as the real server writes them: `subsets[0].addresses[1].foo`. */
export interface Decoded {
  value: unknown;
  unknownFields: string[];
  /** Empty unless the context collects type errors. */
  typeErrors: FieldError[];
}

export interface DecodeContext {
  /** Kind and version for messages, e.g. `Endpoints` and `v1`. */
  kind: string;
  version: string;
  /** Keeps empty fields and adds no missing ones: apply must know exactly which fields the client sent. */
  isAsSent?: boolean;
  /** Collects and drops values of the wrong type, so that the client gets all of them in one answer. */
  collectsTypeErrors?: boolean;
}

/** Deeper than any real object; keeps a hostile body from exhausting the stack. */
const maxDepth = 100;
/** Bounds the answer: a hostile body could hold a million wrong values. */
const maxTypeErrors = 100;

interface Decoding {
  ctx: DecodeContext;
  unknownFields: string[];
  typeErrors: FieldError[];
}

export function decode(value: unknown, node: Node, ctx: DecodeContext): Decoded {
  const decoding: Decoding = { ctx, unknownFields: [], typeErrors: [] };
  const fitted = conform(value, node, decoding, { path: '', depth: 0 });
  return { value: fitted, unknownFields: decoding.unknownFields, typeErrors: decoding.typeErrors };
}

interface ValuePosition {
  path: string;
  depth: number;
}

function conform(value: unknown, node: Node, decoding: Decoding, position: ValuePosition): unknown {
  const { path, depth } = position;
  if (depth > maxDepth) throw badRequest(`decode the object: the object has more than ${maxDepth} levels`);
  switch (node.type) {
    case 'object':
    case 'map':
      if (value === null) return undefined;
      if (!isRecord(value)) return wrongType(value, 'object', path, decoding);
      return fitMembers(value, node, decoding, position);
    case 'list':
      if (value === null) return undefined;
      if (!Array.isArray(value)) return wrongType(value, 'array', path, decoding);
      return value.map((item: unknown, index) => {
        const at = { path: `${path}[${index}]`, depth: depth + 1 };
        return conform(item, node.items, decoding, at) ?? zeroOf(node.items);
      });
    case 'scalar':
      return fitScalar(value, node, path, decoding);
    case 'any':
      return value;
    default:
      return node satisfies never;
  }
}

/** An object drops empty members, as Go's omitempty does; a map keeps them, because its keys are data. */
function fitMembers(
  value: Record<string, unknown>,
  node: Extract<Node, { type: 'object' | 'map' }>,
  decoding: Decoding,
  { path, depth }: ValuePosition,
): Record<string, unknown> {
  const fitted: Record<string, unknown> = {};
  const isAsSent = decoding.ctx.isAsSent === true;
  for (const key of Object.keys(value)) {
    const member = node.type === 'map' ? node.values : node.fields.get(key);
    const at = { path: path === '' ? key : `${path}.${key}`, depth: depth + 1 };
    if (member === undefined) {
      decoding.unknownFields.push(at.path);
      continue;
    }
    const entry = conform(value[key], member, decoding, at);
    if (node.type === 'map') setMember(fitted, key, entry ?? zeroOf(member));
    else if (entry === undefined) continue;
    else if (isAsSent || !isZero(entry, member) || node.pointers.has(key) || isLimited(member)) fitted[key] = entry;
  }
  if (node.type === 'map' || isAsSent) return fitted;
  for (const key of node.always) fitted[key] ??= zeroOf(node.fields.get(key) as Node);
  for (const key of node.nulls) fitted[key] ??= null;
  return fitted;
}

function fitScalar(value: unknown, node: Extract<Node, { type: 'scalar' }>, path: string, decoding: Decoding): unknown {
  const { scalar } = node;
  const { ctx } = decoding;
  if (value === null) return undefined;
  switch (scalar) {
    case 'string':
    case 'bytes':
      if (typeof value !== 'string') return wrongType(value, 'string', path, decoding);
      if (scalar === 'bytes' && !isBase64(value)) {
        throw refusal(ctx, `illegal base64 data at input byte ${firstBadBase64(value)}`);
      }
      return value;
    case 'integer':
      if (!isInteger(value, node.bits)) return wrongType(value, 'int', path, decoding);
      return value;
    case 'number':
      if (typeof value !== 'number') return wrongType(value, 'number', path, decoding);
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') return wrongType(value, 'bool', path, decoding);
      return value;
    case 'intOrString':
      if (typeof value !== 'string' && !isInteger(value, 32)) return wrongType(value, 'int or string', path, decoding);
      return value;
    case 'quantity':
      return quantity(value, path, decoding);
    case 'time':
      if (typeof value !== 'string' || timeFault(value) !== undefined) return wrongType(value, 'time', path, decoding);
      return value;
    case 'microTime':
      if (typeof value !== 'string') return wrongType(value, 'time', path, decoding);
      checkMicroTime(value, ctx);
      return value;
    default:
      return scalar satisfies never;
  }
}

/** Checks the range too: 1e300 is a whole number in JSON and fits into no integer type. */
function isInteger(value: unknown, bits: 32 | 64): boolean {
  if (!Number.isInteger(value)) return false;
  const limit = 2 ** (bits - 1);
  return (value as number) >= -limit && (value as number) < limit;
}

/** A MicroTime needs exactly six digits after the point; the message copies Go's layout string. */
function checkMicroTime(text: string, ctx: DecodeContext): void {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(text)) {
    const fault = timeFault(text);
    if (fault === undefined) return;
    if (fault !== 'form') throw refusal(ctx, `parsing time "${text}": ${fault} out of range`);
  }
  const opening = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.exec(text)?.[0];
  const rest = opening === undefined ? text : text.slice(opening.length);
  const wanted = opening === undefined ? '2006' : '.000000';
  throw refusal(
    ctx,
    `parsing time "${text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "${rest}" as "${wanted}"`,
  );
}

/** Like Go: padding is required, line ends are ignored. They are taken out first, because two lists of them would share a long run. */
function isBase64(text: string): boolean {
  const bare = text.replace(/[\r\n]/g, '');
  return bare.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(bare);
}

function firstBadBase64(text: string): number {
  const bad = text.search(/[^A-Za-z0-9+/=\r\n]/);
  return bad >= 0 ? bad : Math.max(0, text.length - (text.length % 4 || 1));
}

function quantity(value: unknown, path: string, decoding: Decoding): unknown {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return wrongType(value, 'quantity', path, decoding);
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/.test(value)) {
    throw refusal(
      decoding.ctx,
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return value;
}

/** A field with limits keeps a sent zero, so that validation sees it. */
function isLimited(node: Node): boolean {
  return node.type === 'scalar' && node.limits !== undefined;
}

/** True for values that Go's omitempty leaves out. */
function isZero(value: unknown, node: Node): boolean {
  if (value === '' || value === 0 || value === false) return true;
  if (node.type === 'map') return Object.keys(value as object).length === 0;
  return node.type === 'list' && (value as unknown[]).length === 0;
}

/** The zero value of a node; of an object, the fields that are always written. */
export function zeroOf(node: Node): unknown {
  switch (node.type) {
    case 'object': {
      const zero: Record<string, unknown> = {};
      for (const key of node.always) zero[key] = zeroOf(node.fields.get(key) as Node);
      for (const key of node.nulls) zero[key] = null;
      return zero;
    }
    case 'map':
      return {};
    case 'list':
      return [];
    case 'scalar':
      return zeroScalar(node.scalar);
    case 'any':
      return null;
    default:
      return node satisfies never;
  }
}

function zeroScalar(scalar: Scalar): unknown {
  switch (scalar) {
    case 'integer':
    case 'number':
    case 'intOrString':
      return 0;
    case 'boolean':
      return false;
    case 'time':
    case 'microTime':
      return null;
    case 'quantity':
      return '0';
    case 'string':
    case 'bytes':
      return '';
    default:
      return scalar satisfies never;
  }
}

function wrongType(value: unknown, wanted: string, path: string, decoding: Decoding): undefined {
  const got = typeName(value);
  if (decoding.ctx.collectsTypeErrors !== true) {
    const { kind } = decoding.ctx;
    throw refusal(decoding.ctx, `json: cannot unmarshal ${got} into field ${kind}.${path} of type ${wanted}`);
  }
  if (decoding.typeErrors.length < maxTypeErrors)
    decoding.typeErrors.push(wrongTypeValue(path, got, schemaTypes[wanted] ?? wanted));
  return undefined;
}

/** Schema type names for Go type names. */
const schemaTypes: Readonly<Record<string, string>> = { int: 'integer', bool: 'boolean' };

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (isRecord(value)) return 'object';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

export function refusal(ctx: DecodeContext, why: string) {
  return badRequest(`${ctx.kind} in version "${ctx.version}" cannot be handled as a ${ctx.kind}: ${why}`);
}
