// Rules for the value of a key that a client brings along: long enough, varied enough, and unlike anything that means
// something else as a bearer token. The messages never quote the value.
import type { FieldError } from '../../../object/meta/field-error.ts';
import type { Peppers } from './pepper.ts';
import type { makeSecret } from './rotate.ts';
import { maxTokenLength } from './token.ts';

const shortest = 32;
const distinctCharacters = 12;

export function suppliedFaults(value: string, path: string): FieldError[] {
  const fault = (message: string): FieldError[] => [
    { type: 'FieldValueInvalid', path, message: `Invalid value: the value is not shown: ${message}` },
  ];
  if (value.startsWith('mpk_')) return fault('must not begin with mpk_, as generated keys do');
  if (!/^[A-Za-z0-9._~+/=-]*$/.test(value)) return fault('must consist of A-Z, a-z, 0-9 and ._~+/=-');
  if (value.length < shortest || value.length > maxTokenLength)
    return fault(`must have ${shortest} to ${maxTokenLength} characters`);
  if (new Set(value).size < distinctCharacters)
    return fault(`must have at least ${distinctCharacters} distinct characters`);
  if (isJWTShaped(value)) return fault('must not look like a JWT, as direct tokens do');
  return [];
}

/** The message does not name the owner of the other key. */
export function duplicateSupplied(path: string): FieldError {
  return { type: 'FieldValueInvalid', path, message: 'Invalid value: the value is not shown: must not be in use' };
}

/** Three parts with dots between them, the first of them a JSON object in base64. */
function isJWTShaped(value: string): boolean {
  return /^[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]*={0,2}\.[A-Za-z0-9_-]*={0,2}$/.test(value) && value.startsWith('ey');
}

export function suppliedSecret(text: string, peppers: Peppers): ReturnType<typeof makeSecret> {
  const secret = { ...peppers.digest(text), validUntilMs: undefined, isSupplied: true };
  return { text, part: { id: '', secrets: [secret] } };
}
