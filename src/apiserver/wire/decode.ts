// From JSON that somebody sent to an object that fits its schema: unknown fields are dropped and reported, null means
// absent. A value of the wrong type refuses the whole object at once, or is collected where all faults are told together.
import { type FieldError, wrongTypeValue } from '../../object/meta/field-error.ts';
import { isRecord, setMember } from '../../object/text/json.ts';
import type { Node, Scalar } from '../kinds/schema.ts';
import { badRequest } from '../request/status-fault.ts';

/** A field is named as the real server names it: `subsets[0].addresses[1].foo`. */
export interface Decoded {
  value: unknown;
  unknownFields: string[];
  /** Empty unless they are collected. */
  typeErrors: FieldError[];
}

export interface DecodeContext {
  /** For messages: `Endpoints`, `v1`. */
  kind: string;
  version: string;
  /** What was sent and no more: nothing that is empty is left out, nothing that is missing is filled in. */
  isAsSent?: boolean;
  /** Values of the wrong type are collected and left out, so that the client is told of all of them. */
  collectsTypeErrors?: boolean;
}

/** Deeper than any real object; keeps a hostile body from exhausting the stack. */
const maxDepth = 100;
/** As many wrong values as one answer names: a hostile body of a million must not make an answer of a million. */
const maxTypeErrors = 100;

/** What one walk through an object carries along. */
interface Walk {
  ctx: DecodeContext;
  unknownFields: string[];
  typeErrors: FieldError[];
}

export function decode(value: unknown, node: Node, ctx: DecodeContext): Decoded {
  const walk: Walk = { ctx, unknownFields: [], typeErrors: [] };
  const fitted = conform(value, node, walk, { path: '', depth: 0 });
  return { value: fitted, unknownFields: walk.unknownFields, typeErrors: walk.typeErrors };
}

interface Spot {
  path: string;
  depth: number;
}

function conform(value: unknown, node: Node, walk: Walk, spot: Spot): unknown {
  const { path, depth } = spot;
  if (depth > maxDepth) throw badRequest(`decode the object: want at most ${maxDepth} levels, got more`);
  switch (node.type) {
    case 'object':
    case 'map':
      if (value === null) return undefined;
      if (!isRecord(value)) return wrongType(value, 'object', path, walk);
      return fitMembers(value, node, walk, spot);
    case 'list':
      if (value === null) return undefined;
      if (!Array.isArray(value)) return wrongType(value, 'array', path, walk);
      return value.map((item: unknown, index) => {
        const at = { path: `${path}[${index}]`, depth: depth + 1 };
        return conform(item, node.items, walk, at) ?? zeroOf(node.items);
      });
    case 'scalar':
      return fitScalar(value, node, path, walk);
    case 'any':
      return value;
    default:
      return node satisfies never;
  }
}

/** The members of an object are known by name, those of a map are all of one kind and stay even when they are empty. */
function fitMembers(
  value: Record<string, unknown>,
  node: Extract<Node, { type: 'object' | 'map' }>,
  walk: Walk,
  { path, depth }: Spot,
): Record<string, unknown> {
  const fitted: Record<string, unknown> = {};
  const isAsSent = walk.ctx.isAsSent === true;
  for (const key of Object.keys(value)) {
    const member = node.type === 'map' ? node.values : node.fields.get(key);
    const at = { path: path === '' ? key : `${path}.${key}`, depth: depth + 1 };
    if (member === undefined) {
      walk.unknownFields.push(at.path);
      continue;
    }
    const entry = conform(value[key], member, walk, at);
    if (node.type === 'map') setMember(fitted, key, entry ?? zeroOf(member));
    else if (entry === undefined) continue;
    else if (isAsSent || !isZero(entry, member) || node.pointers.has(key) || isLimited(member)) fitted[key] = entry;
  }
  if (node.type === 'map' || isAsSent) return fitted;
  for (const key of node.always) fitted[key] ??= zeroOf(node.fields.get(key) as Node);
  for (const key of node.nulls) fitted[key] ??= null;
  return fitted;
}

function fitScalar(value: unknown, node: Extract<Node, { type: 'scalar' }>, path: string, walk: Walk): unknown {
  const { scalar } = node;
  const { ctx } = walk;
  if (value === null) return undefined;
  switch (scalar) {
    case 'string':
    case 'bytes':
      if (typeof value !== 'string') return wrongType(value, 'string', path, walk);
      if (scalar === 'bytes' && !isBase64(value)) {
        throw refusal(ctx, `illegal base64 data at input byte ${firstBadBase64(value)}`);
      }
      return value;
    case 'integer':
      if (!isInteger(value, node.bits)) return wrongType(value, 'int', path, walk);
      return value;
    case 'number':
      if (typeof value !== 'number') return wrongType(value, 'number', path, walk);
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') return wrongType(value, 'bool', path, walk);
      return value;
    case 'intOrString':
      if (typeof value !== 'string' && !isInteger(value, 32)) return wrongType(value, 'int or string', path, walk);
      return value;
    case 'quantity':
      return quantity(value, path, walk);
    case 'time':
      if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) return wrongType(value, 'time', path, walk);
      return value;
    case 'microTime':
      if (typeof value !== 'string') return wrongType(value, 'time', path, walk);
      checkMicroTime(value, ctx);
      return value;
    default:
      return scalar satisfies never;
  }
}

/** JSON has no integers: 1e300 is a whole number too, and fits into none. */
function isInteger(value: unknown, bits: 32 | 64): boolean {
  if (!Number.isInteger(value)) return false;
  const limit = 2 ** (bits - 1);
  return (value as number) >= -limit && (value as number) < limit;
}

/** Written with exactly six digits; the words are Go's, whose layout is the format. */
function checkMicroTime(text: string, ctx: DecodeContext): void {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(text)) return;
  const opening = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.exec(text)?.[0];
  const rest = opening === undefined ? text : text.slice(opening.length);
  const wanted = opening === undefined ? '2006' : '.000000';
  throw refusal(
    ctx,
    `parsing time "${text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "${rest}" as "${wanted}"`,
  );
}

/** With its padding, as Go wants it; line ends do not count. */
function isBase64(text: string): boolean {
  return text.replace(/[\r\n]/g, '').length % 4 === 0 && /^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/.test(text);
}

function firstBadBase64(text: string): number {
  const bad = text.search(/[^A-Za-z0-9+/=\r\n]/);
  return bad >= 0 ? bad : Math.max(0, text.length - (text.length % 4 || 1));
}

function quantity(value: unknown, path: string, walk: Walk): unknown {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return wrongType(value, 'quantity', path, walk);
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/.test(value)) {
    throw refusal(
      walk.ctx,
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return value;
}

/** A zero that was sent must be judged. */
function isLimited(node: Node): boolean {
  return node.type === 'scalar' && node.limits !== undefined;
}

/** Empty, as the encoder of the real server sees it: it leaves such fields out. */
function isZero(value: unknown, node: Node): boolean {
  if (value === '' || value === 0 || value === false) return true;
  if (node.type === 'map') return Object.keys(value as object).length === 0;
  return node.type === 'list' && (value as unknown[]).length === 0;
}

/** What there is when nothing was said: the fields that are always written. */
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

function wrongType(value: unknown, wanted: string, path: string, walk: Walk): undefined {
  const got = typeName(value);
  if (walk.ctx.collectsTypeErrors !== true) {
    const { kind } = walk.ctx;
    throw refusal(walk.ctx, `json: cannot unmarshal ${got} into field ${kind}.${path} of type ${wanted}`);
  }
  if (walk.typeErrors.length < maxTypeErrors)
    walk.typeErrors.push(wrongTypeValue(path, got, schemaTypes[wanted] ?? wanted));
  return undefined;
}

/** The words of a schema for the words of Go. */
const schemaTypes: Readonly<Record<string, string>> = { int: 'integer', bool: 'boolean' };

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (isRecord(value)) return 'object';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

export function refusal(ctx: DecodeContext, why: string) {
  return badRequest(`${ctx.kind} in version "${ctx.version}" cannot be handled as a ${ctx.kind}: ${why}`);
}
