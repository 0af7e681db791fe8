// YAML out and in, as kubectl writes and reads it.
import { CORE_SCHEMA, dump, loadAll, mergeTag, YAMLException } from 'js-yaml';

/** Far deeper than any object, far below the stack. */
const depthLimit = 64;
/** kubectl knows merge keys, which YAML 1.2 has dropped. */
const schema = CORE_SCHEMA.withTags(mergeTag);

/** People alias a label map or two; bombs alias thousands. */
const aliasLimit = 100;

export function toYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
}

export type ParsedDocuments =
  | { kind: 'documents'; documents: unknown[] }
  | { kind: 'fault'; line: number; column: number; reason: string };

/** JSON is tried first: it is a subset, and a long List of it parses a hundred times faster. */
export function parseDocuments(text: string): ParsedDocuments {
  if (/^\s*[[{]/.test(text)) {
    try {
      return { kind: 'documents', documents: [JSON.parse(text)] };
    } catch {
      // Flow-style YAML, or JSON with a fault that the YAML parser places better.
    }
  }
  try {
    const documents = loadAll(text, { schema, maxDepth: depthLimit, maxAliases: aliasLimit });
    return {
      kind: 'documents',
      documents: documents.filter((document) => document !== null && document !== undefined),
    };
  } catch (fault) {
    if (!(fault instanceof YAMLException)) throw fault;
    return {
      kind: 'fault',
      line: (fault.mark?.line ?? 0) + 1,
      column: (fault.mark?.column ?? 0) + 1,
      reason: fault.reason,
    };
  }
}
