// Builds the OpenAPI v2 document, as JSON and as protobuf. kubectl falls back to v2 for a kind whose v3 document has no PATCH,
// such as a create-only kind, and validates the object against the v2 definitions itself. The document must have no paths: a
// path with `fieldValidation` for other kinds makes kubectl look for CustomResourceDefinitions.
import type { Schema } from '../kinds/schema.ts';

export const openApiV2Type = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export interface OpenApiV2 {
  swagger: '2.0';
  info: { title: string; version: string };
  paths: Record<string, never>;
  definitions: Record<string, Record<string, unknown>>;
}

export function openApiV2(definitions: Readonly<Record<string, Schema>>, version: string): OpenApiV2 {
  const converted = Object.entries(definitions).map(([name, schema]) => [name, convert(schema)] as const);
  const info = { title: 'Kubernetes', version };
  return { swagger: '2.0', info, paths: {}, definitions: Object.fromEntries(converted) };
}

/** Keywords with the same meaning in v2 and v3. */
const sameKeywords = [
  'type',
  'format',
  'description',
  'default',
  'required',
  'enum',
  'minimum',
  'maximum',
  'pattern',
] as const;

function convert(schema: Schema): Record<string, unknown> {
  const ref = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  const description = schema.description === undefined ? {} : { description: schema.description };
  if (ref !== undefined) return { ...description, $ref: ref.replace('#/components/schemas/', '#/definitions/') };
  const result: Record<string, unknown> = {};
  for (const keyword of sameKeywords) if (schema[keyword] !== undefined) result[keyword] = schema[keyword];
  if (schema.maxLength !== undefined) result['maxLength'] = schema.maxLength;
  // v2 has no alternatives: an int-or-string is a string with a format.
  if (schema.format === 'int-or-string') result['type'] = 'string';
  if (schema.items !== undefined) result['items'] = convert(schema.items);
  if (typeof schema.additionalProperties === 'object')
    result['additionalProperties'] = convert(schema.additionalProperties);
  if (schema.properties !== undefined) {
    result['properties'] = Object.fromEntries(
      Object.entries(schema.properties).map(([name, field]) => [name, convert(field)]),
    );
  }
  for (const [name, value] of Object.entries(schema)) if (name.startsWith('x-kubernetes-')) result[name] = value;
  return result;
}

/** The field numbers come from gnostic's OpenAPIv2.proto. */
export function openApiV2Bytes({ swagger, info, definitions }: OpenApiV2): Buffer {
  const named = Object.entries(definitions).map(([name, schema]) => bytesField(1, namedSchema(name, schema)));
  return Buffer.concat([
    textField(1, swagger),
    bytesField(2, Buffer.concat([textField(1, info.title), textField(2, info.version)])),
    bytesField(8, Buffer.alloc(0)),
    bytesField(9, Buffer.concat(named)),
  ]);
}

function namedSchema(name: string, schema: unknown): Buffer {
  return Buffer.concat([textField(1, name), bytesField(2, schemaBytes(schema as Record<string, unknown>))]);
}

function schemaBytes(schema: Record<string, unknown>): Buffer {
  const chunks: Buffer[] = [];
  const texts = { $ref: 1, format: 2, description: 4, pattern: 13 };
  for (const [keyword, field] of Object.entries(texts)) {
    const value = schema[keyword];
    if (typeof value === 'string') chunks.push(textField(field, value));
  }
  if (schema['default'] !== undefined) chunks.push(bytesField(5, anyBytes(schema['default'])));
  for (const name of (schema['required'] ?? []) as string[]) chunks.push(textField(19, name));
  for (const value of (schema['enum'] ?? []) as unknown[]) chunks.push(bytesField(20, anyBytes(value)));
  if (schema['additionalProperties'] !== undefined) {
    const values = bytesField(1, schemaBytes(schema['additionalProperties'] as Record<string, unknown>));
    chunks.push(bytesField(21, values));
  }
  if (typeof schema['type'] === 'string') chunks.push(bytesField(22, textField(1, schema['type'])));
  if (schema['items'] !== undefined) {
    chunks.push(bytesField(23, bytesField(1, schemaBytes(schema['items'] as Record<string, unknown>))));
  }
  if (schema['properties'] !== undefined) {
    const named = Object.entries(schema['properties'] as object);
    const fields = named.map(([name, field]) => bytesField(1, namedSchema(name, field)));
    chunks.push(bytesField(25, Buffer.concat(fields)));
  }
  for (const [name, value] of Object.entries(schema)) {
    if (!name.startsWith('x-kubernetes-')) continue;
    chunks.push(bytesField(31, Buffer.concat([textField(1, name), bytesField(2, anyBytes(value))])));
  }
  return Buffer.concat(chunks);
}

/** gnostic's Any holds YAML, and JSON is YAML. */
function anyBytes(value: unknown): Buffer {
  return textField(2, JSON.stringify(value));
}

// Writes protobuf fields that hold texts or messages; OpenAPI v2 needs no other field types.
const lengthDelimited = 2;

function textField(field: number, text: string): Buffer {
  return bytesField(field, Buffer.from(text));
}

function bytesField(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + lengthDelimited), varint(bytes.length), bytes]);
}

/** Seven bits a byte, the lowest first; every byte but the last has its highest bit set. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
