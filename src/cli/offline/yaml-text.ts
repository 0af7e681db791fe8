// Writes and reads YAML as kubectl does.
import { CORE_SCHEMA, dump, loadAll, mergeTag, YAMLException } from 'js-yaml';
import { expansionFault, maxDepth } from '../../object/text/nesting.ts';
import { yamlFault } from '../../object/text/yaml-fault.ts';
import { safeText } from '../../safe-text.ts';

/** Deeper than any Kubernetes object, and far below the limit of the stack. */
const depthLimit = 64;
/** kubectl reads merge keys (`<<`), which YAML 1.2 no longer has. */
const schema = CORE_SCHEMA.withTags(mergeTag);

/** People write a few aliases; an alias bomb has thousands. */
const aliasLimit = 100;

/** The text is safe for a terminal: unsafe characters become YAML escapes in double quotes. */
export function toYaml(value: unknown): string {
  const text = dumped(value);
  if (safeText(text) === text) return text;
  // The value itself contains a mark, so JSON is printed instead, which is YAML too.
  if (text.includes(writtenMark)) return safeText(`${JSON.stringify(value, undefined, 2)}\n`);
  return dumped(withMarks(value)).replace(writtenMarks, (_, digits: string) =>
    digits.length > 4 ? `\\U${digits}` : `\\u${digits}`,
  );
}

function dumped(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
}

/** The YAML printer prints direction marks raw, but it escapes this character: two marks enclose the digits of an escape. */
const mark = '\u0001';
const writtenMark = '\\x01';
const writtenMarks = /\\x01((?:[0-9a-f]{4}){1,2})\\x01/g;

function withMarks(value: unknown): unknown {
  if (typeof value === 'string') return Array.from(value, marked).join('');
  if (Array.isArray(value)) return value.map(withMarks);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [withMarks(key), withMarks(member)]));
}

function marked(character: string): string {
  if (safeText(character) === character) return character;
  const digits = (character.codePointAt(0) as number).toString(16);
  return `${mark}${digits.padStart(digits.length > 4 ? 8 : 4, '0')}${mark}`;
}

/** The length of a document with its aliases written out, as a multiple of its text and at least so much. */
const expandedTimes = 10;
const expandedAtLeast = 1024 * 1024;

export type ParsedDocuments =
  | { kind: 'documents'; documents: unknown[] }
  | { kind: 'fault'; line: number; column: number; reason: string };

/** Tries JSON first, because a long List in JSON parses a hundred times faster. */
export function parseDocuments(text: string): ParsedDocuments {
  if (/^\s*[[{]/.test(text)) {
    try {
      return checked([JSON.parse(text)], text);
    } catch {
      // The text is flow-style YAML, or faulty JSON; the YAML parser gives a better position for the fault.
    }
  }
  try {
    const documents = loadAll(text, { schema, maxDepth: depthLimit, maxAliases: aliasLimit });
    return checked(
      documents.filter((document) => document !== null && document !== undefined),
      text,
    );
  } catch (fault) {
    if (!(fault instanceof YAMLException)) throw fault;
    const { place, sentence } = yamlFault(fault);
    return { kind: 'fault', line: place?.line ?? 1, column: place?.column ?? 1, reason: sentence };
  }
}

/** Readers of documents copy what an alias names, and call themselves for each level. */
function checked(documents: unknown[], text: string): ParsedDocuments {
  const limit = Math.max(expandedAtLeast, expandedTimes * text.length);
  const fault = expansionFault(documents, limit);
  if (fault === undefined) return { kind: 'documents', documents };
  const reason =
    fault === 'too deep'
      ? `the objects nest deeper than ${maxDepth} levels`
      : `with their aliases written out the objects are longer than ${limit} characters`;
  return { kind: 'fault', line: 1, column: 1, reason };
}
