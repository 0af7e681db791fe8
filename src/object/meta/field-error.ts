// An error in one field of an object, in the words of the Kubernetes API. A validation returns all errors as a list, and a
// Status of reason Invalid carries them as causes.

export type FieldErrorType =
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany';

export interface FieldError {
  type: FieldErrorType;
  /** `metadata.labels`, `subsets[0].addresses[1].ip`. */
  path: string;
  /** The text without the path. */
  message: string;
}

/** An answer lists no more errors. A hostile body may have a million, whose texts would fill the memory. */
export const maxListedErrors = 100;

/** Goes through a list of the client's, and stops as soon as an answer can list no more errors. */
export function errorsOfEach<T>(items: Iterable<T>, errorsOf: (item: T, index: number) => FieldError[]): FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of items) {
    for (const error of errorsOf(item, index)) errors.push(error);
    if (errors.length >= maxListedErrors) break;
    index++;
  }
  return errors;
}

/** Path and message on one line, the form of a status message. */
export function fieldErrorText(error: FieldError): string {
  return `${error.path}: ${error.message}`;
}

export function invalidValue(path: string, value: unknown, detail: string): FieldError {
  return { type: 'FieldValueInvalid', path, message: withDetail(`Invalid value: ${shown(value)}`, detail) };
}

/** The value is of another JSON type than the field. */
export function wrongTypeValue(path: string, got: string, wanted: string): FieldError {
  return { type: 'FieldValueTypeInvalid', path, message: `Invalid value: "${got}": must be of type ${wanted}` };
}

export function requiredValue(path: string, detail = ''): FieldError {
  return { type: 'FieldValueRequired', path, message: withDetail('Required value', detail) };
}

export function duplicateValue(path: string, value: unknown): FieldError {
  return { type: 'FieldValueDuplicate', path, message: `Duplicate value: ${shown(value)}` };
}

export function forbiddenField(path: string, detail: string): FieldError {
  return { type: 'FieldValueForbidden', path, message: withDetail('Forbidden', detail) };
}

export function unsupportedValue(path: string, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(quoted).join(', ')}`;
  return { type: 'FieldValueNotSupported', path, message: withDetail(`Unsupported value: ${shown(value)}`, detail) };
}

export function tooLong(path: string, maxBytes: number): FieldError {
  return { type: 'FieldValueTooLong', path, message: `Too long: may not be more than ${maxBytes} bytes` };
}

/** The text in double quotes; equals Go's %q for all characters that names and values can hold. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A longer value is cut: a list of the client's could appear whole in a hundred messages. */
const maxShownLength = 10_000;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? quoted(value) : value === undefined ? 'null' : JSON.stringify(value);
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
}

function withDetail(text: string, detail: string): string {
  return detail === '' ? text : `${text}: ${detail}`;
}
