// The rules for names, label keys and label values, in the words of Kubernetes. Each function returns all problems, or an
// empty list for a valid text. Lengths are counted in bytes.

const labelChars = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomainChars = `${labelChars}(\\.${labelChars})*`;
const label1035Chars = '[a-z]([-a-z0-9]*[a-z0-9])?';
const qualifiedChars = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValueChars = `(${qualifiedChars})?`;

const labelPattern = new RegExp(`^${labelChars}$`);
const subdomainPattern = new RegExp(`^${subdomainChars}$`);
const label1035Pattern = new RegExp(`^${label1035Chars}$`);
const qualifiedPattern = new RegExp(`^${qualifiedChars}$`);
const labelValuePattern = new RegExp(`^${labelValueChars}$`);

const dnsLabelMaxLength = 63;
const dnsSubdomainMaxLength = 253;
const labelPartMaxLength = 63;

const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const label1035Rule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
const qualifiedRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

const qualifiedExamples = ['MyName', 'my.name', '123-abc'];

/** The rule for the names of most kinds: `kube-dns`, `node-1.example.com`. */
export function dnsSubdomainProblems(value: string, unit: 'bytes' | 'characters' = 'characters'): string[] {
  const problems = lengthProblems(value, dnsSubdomainMaxLength, unit);
  if (!subdomainPattern.test(value)) problems.push(withRegex(subdomainRule, subdomainChars, ['example.com']));
  return problems;
}

/** The rule for names of namespaces. */
export function dnsLabelProblems(value: string): string[] {
  const problems = lengthProblems(value, dnsLabelMaxLength, 'characters');
  if (labelPattern.test(value)) return problems;
  if (subdomainPattern.test(value)) problems.push('must not contain dots');
  else problems.push(withRegex(labelRule, labelChars, ['my-name', '123-abc']));
  return problems;
}

/** The rule for names of Services. */
export function dns1035LabelProblems(value: string): string[] {
  const problems = lengthProblems(value, dnsLabelMaxLength, 'characters');
  if (!label1035Pattern.test(value)) problems.push(withRegex(label1035Rule, label1035Chars, ['my-name', 'abc-123']));
  return problems;
}

/** A fast test that most keys pass; the full rules judge all other keys. */
const plainKeyPattern = /^(?:[a-z0-9]+(?:[-.][a-z0-9]+)*\/)?[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*$/;

/** The rule for keys of labels and annotations: an optional DNS subdomain and a slash, then a name part. */
export function labelKeyProblems(value: string): string[] {
  if (value.length <= labelPartMaxLength && plainKeyPattern.test(value)) return [];
  const parts = value.split('/');
  if (parts.length > 2) {
    const rule = `a valid label key ${withRegex(qualifiedRule, qualifiedChars, qualifiedExamples)}`;
    return [`${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const name = parts.at(-1) as string;
  const prefix = parts.length === 2 ? (parts[0] as string) : undefined;
  const problems: string[] = [];
  if (prefix === '') problems.push('prefix part must be non-empty');
  else if (prefix !== undefined) {
    problems.push(...dnsSubdomainProblems(prefix, 'bytes').map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else problems.push(...lengthProblems(name, labelPartMaxLength, 'bytes').map((problem) => `name part ${problem}`));
  if (!qualifiedPattern.test(name)) {
    problems.push(`name part ${withRegex(qualifiedRule, qualifiedChars, qualifiedExamples)}`);
  }
  return problems;
}

export function labelValueProblems(value: string): string[] {
  // The pattern allows only ASCII, so here the length in characters is the length in bytes.
  if (value.length <= labelPartMaxLength && labelValuePattern.test(value)) return [];
  const problems = lengthProblems(value, labelPartMaxLength, 'bytes');
  if (!labelValuePattern.test(value)) {
    problems.push(withRegex(labelValueRule, labelValueChars, ['MyValue', 'my_value', '12345']));
  }
  return problems;
}

function lengthProblems(value: string, maxBytes: number, unit: 'bytes' | 'characters'): string[] {
  return Buffer.byteLength(value) > maxBytes ? [`must be no more than ${maxBytes} ${unit}`] : [];
}

/** The rule without examples and pattern, which a person who has written an expression reads past. */
export function withoutPattern(problem: string): string {
  return problem.replace(/ \(e\.g\. .*regex used for validation is '.*'\)/, '');
}

function withRegex(rule: string, regex: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${shown}regex used for validation is '${regex}')`;
}
