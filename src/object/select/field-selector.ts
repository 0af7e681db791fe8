// Field selectors: `metadata.name=x,metadata.namespace!=y`. This file has the grammar, with backslash escapes in values, and
// the matching. The caller decides which fields are allowed.

export interface FieldRequirement {
  field: string;
  operator: 'equals' | 'notEquals';
  value: string;
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
}

export type FieldSelectorResult = { ok: true; selector: FieldSelector } | { ok: false; message: string };

export function parseFieldSelector(text: string): FieldSelectorResult {
  const requirements: FieldRequirement[] = [];
  // Sorted like in Kubernetes, so that the same one of several faults is reported.
  for (const term of splitTerms(text).sort()) {
    if (term === '') continue;
    const sign = /!=|==|=/.exec(term);
    if (sign === null) return { ok: false, message: `invalid selector: '${text}'; can't understand '${term}'` };
    const value = unescapeValue(term.slice(sign.index + sign[0].length));
    if (!value.ok) return value;
    // A term without field and value has no requirement.
    if (sign.index === 0 && value.text === '') continue;
    const operator = sign[0] === '!=' ? 'notEquals' : 'equals';
    requirements.push({ field: term.slice(0, sign.index), operator, value: value.text });
  }
  return { ok: true, selector: { requirements } };
}

/** `lookup` returns the text of a field, or the empty string for an absent field. */
export function matchesFields(selector: FieldSelector, lookup: (field: string) => string): boolean {
  return selector.requirements.every(
    ({ field, operator, value }) => (lookup(field) === value) === (operator === 'equals'),
  );
}

/** The only value that the selector allows for the field; with it, a list by name becomes a get. */
export function exactValue(selector: FieldSelector, field: string): string | undefined {
  return selector.requirements.find((required) => required.field === field && required.operator === 'equals')?.value;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function unescapeValue(text: string): { ok: true; text: string } | { ok: false; message: string } {
  let value = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '\\') {
      const escaped = text[++at];
      if (escaped !== '\\' && escaped !== ',' && escaped !== '=') {
        return { ok: false, message: `invalid field selector: invalid escape sequence: \\${escaped ?? ''}` };
      }
      value += escaped;
    } else if (char === ',' || char === '=') {
      return { ok: false, message: `invalid field selector: unescaped character in value: ${char.charCodeAt(0)}` };
    } else {
      value += char;
    }
  }
  return { ok: true, text: value };
}
