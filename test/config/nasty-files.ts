// Expensive configurations: each entry is one way to make the loader work hard, in any requested size.

export interface NastyFile {
  name: string;
  /** Makes a text of at most `bytes` bytes; ASCII, so that characters are bytes. */
  text(bytes: number): string;
}

const listHead = 'sync:\n  toHost:\n    endpoints:\n      patches:\n';

/** Fills the space between head and tail with parts. */
function filled(bytes: number, head: string, part: (index: number) => string, tail = ''): string {
  const parts: string[] = [];
  let length = head.length + tail.length;
  for (let index = 0; ; index++) {
    const next = part(index);
    length += next.length;
    if (length > bytes) return head + parts.join('') + tail;
    parts.push(next);
  }
}

function patches(bytes: number, entry: (index: number) => string): string {
  return filled(bytes, listHead, (index) => `      - ${entry(index)}\n`);
}

/** Nearly the longest allowed expression; a longer one is refused without parsing. */
const expressionChars = 4_000;

function expressions(bytes: number, expression: string): string {
  return patches(bytes, (index) => `{path: metadata.labels.k${index}, expression: ${JSON.stringify(expression)}}`);
}

function repeated(part: string, chars = expressionChars): string {
  return part.repeat(Math.max(0, Math.floor(chars / part.length)));
}

/** The largest allowed number of patches, which are all checked. */
const mostPatches = 1_000;

/** A fixed number of entries, so that a larger size makes their texts longer. */
function fewPatches(bytes: number, entry: (index: number, room: number) => string): string {
  const room = Math.floor(bytes / mostPatches) - 60;
  return listHead + Array.from({ length: mostPatches }, (_, index) => `      - ${entry(index, room)}\n`).join('');
}

export const nastyFiles: readonly NastyFile[] = [
  {
    name: 'many patches',
    text: (bytes) => patches(bytes, (at) => `{path: metadata.labels.k${at}, expression: value}`),
  },
  {
    name: 'patches as many as are judged',
    text: (bytes) =>
      fewPatches(
        bytes,
        (at, room) => `{path: metadata.labels.k${at}, expression: ${repeated('value+', room - 80)}value}`,
      ),
  },
  { name: 'patches that overlap', text: (bytes) => patches(bytes, (at) => `{path: '*.*.k${at}', expression: value}`) },
  {
    name: 'patches on wildcards of different depth',
    text: (bytes) => patches(bytes, (at) => `{path: '${'*.'.repeat(1 + (at % 60))}k${at}', expression: value}`),
  },
  {
    name: 'patches on one path',
    text: (bytes) => patches(bytes, () => '{path: metadata.labels.a, expression: value}'),
  },
  {
    name: 'patches with unknown keys',
    text: (bytes) => patches(bytes, (at) => `{path: a${at}, expresion: value, lables: {}}`),
  },
  { name: 'patches without a mode', text: (bytes) => patches(bytes, () => '{path: metadata.labels.a}') },
  { name: 'patches that are words', text: (bytes) => patches(bytes, () => 'a') },
  {
    name: 'reference patches at fault',
    text: (bytes) =>
      patches(bytes, (at) => `{path: metadata.labels.k${at}, reference: {apiVersion: v2, kind: Pood, kindPath: a}}`),
  },
  { name: 'paths of dots', text: (bytes) => patches(bytes, () => `{path: '${'.'.repeat(1_000)}', expression: value}`) },
  {
    name: 'paths of brackets',
    text: (bytes) => patches(bytes, () => `{path: '${'['.repeat(1_000)}', expression: value}`),
  },
  { name: 'paths of keys', text: (bytes) => patches(bytes, () => `{path: ${'a.'.repeat(60)}a, expression: value}`) },
  {
    name: 'paths of one long key',
    text: (bytes) => patches(bytes, (at) => `{path: ${'a'.repeat(1_000)}${at}, expression: value}`),
  },
  {
    name: 'paths with an invalid index',
    text: (bytes) => patches(bytes, (at) => `{path: 'subsets["${'0'.repeat(900)}x"].k${at}', expression: value}`),
  },
  {
    name: 'paths of blanks',
    text: (bytes) => patches(bytes, () => `{path: "a[${' '.repeat(1_000)}1]", expression: value}`),
  },
  {
    name: 'a path as long as the file',
    text: (bytes) => `${listHead}      - {expression: value, path: ${'a.'.repeat(bytes / 2 - 60)}a}\n`,
  },
  {
    name: 'a path of brackets as long as the file',
    text: (bytes) => `${listHead}      - {expression: value, path: "${'['.repeat(bytes - 120)}"}\n`,
  },
  {
    name: 'a path of blanks as long as the file',
    text: (bytes) => `${listHead}      - {expression: value, path: "a${' '.repeat(bytes - 120)}b"}\n`,
  },
  {
    name: 'an expression as long as the file',
    text: (bytes) => `${listHead}      - {path: metadata.labels.a, expression: "${'a.'.repeat(bytes / 2 - 80)}a"}\n`,
  },
  {
    name: 'an expression of blanks as long as the file',
    text: (bytes) => `${listHead}      - {path: metadata.labels.a, expression: "${' '.repeat(bytes - 120)}"}\n`,
  },
  { name: 'expressions of one host name', text: (bytes) => expressions(bytes, repeated('a.b-').slice(0, -1)) },
  {
    name: 'expressions of one word with dots',
    text: (bytes) => expressions(bytes, repeated('aaaa.', 20_000).slice(0, 4_000).concat('a')),
  },
  {
    name: 'expressions of open texts in brackets',
    text: (bytes) => expressions(bytes, `(/* ${repeated('"\\\\"')} */`),
  },
  { name: 'expressions of unknown names', text: (bytes) => expressions(bytes, repeated('abcd,').slice(0, -1)) },
  {
    name: 'expressions of unknown names with a minus',
    text: (bytes) => expressions(bytes, repeated('a-').slice(0, -1)),
  },
  { name: 'expressions of nearly value', text: (bytes) => expressions(bytes, repeated('valu+').slice(0, -1)) },
  { name: 'expressions of forbidden globals', text: (bytes) => expressions(bytes, repeated('process,').slice(0, -1)) },
  { name: 'expressions of open quotes', text: (bytes) => expressions(bytes, `${repeated("'a\\\\")}`) },
  { name: 'expressions of odd quotes', text: (bytes) => expressions(bytes, `(${repeated('\'"`')}`) },
  { name: 'expressions of open brackets', text: (bytes) => expressions(bytes, repeated('(')) },
  { name: 'expressions of open lists', text: (bytes) => expressions(bytes, repeated('[')) },
  {
    name: 'expressions of nested calls',
    text: (bytes) => expressions(bytes, `${repeated('value(', 2_000)}1${')'.repeat(333)}`),
  },
  { name: 'expressions of members', text: (bytes) => expressions(bytes, `value${repeated('.a')}`) },
  { name: 'expressions of context members', text: (bytes) => expressions(bytes, `context${repeated('.a')}`) },
  {
    name: 'expressions of context uses',
    text: (bytes) => expressions(bytes, `[${repeated('context.vcluster.config.a,')}]`),
  },
  { name: 'expressions of wrong methods', text: (bytes) => expressions(bytes, `[${repeated('value.slyce(),')}]`) },
  {
    name: 'expressions of wrong methods in a chain',
    text: (bytes) => expressions(bytes, `value${repeated('.slyce()')}`),
  },
  { name: 'expressions of placeholders', text: (bytes) => expressions(bytes, `[${repeated("'${")}']`) },
  { name: 'expressions of one placeholder text', text: (bytes) => expressions(bytes, `'${repeated('${')}'`) },
  { name: 'expressions of statements', text: (bytes) => expressions(bytes, repeated('value;')) },
  { name: 'expressions of nested arrows', text: (bytes) => expressions(bytes, `${repeated('a=>')}a`) },
  {
    name: 'expressions of declarations',
    text: (bytes) => expressions(bytes, `(()=>{${repeated('var a;')}return a})()`),
  },
  {
    name: 'expressions of nested blocks',
    text: (bytes) => expressions(bytes, `(()=>{${'{'.repeat(1_900)}${'}'.repeat(1_900)}})()`),
  },
  { name: 'expressions of assignments', text: (bytes) => expressions(bytes, repeated('a=').concat('1')) },
  { name: 'expressions of nested conditions', text: (bytes) => expressions(bytes, repeated('value?').concat('1')) },
  { name: 'expressions of regular expressions', text: (bytes) => expressions(bytes, `[${repeated('/(/,')}]`) },
  { name: 'expressions of large numbers', text: (bytes) => expressions(bytes, repeated('9')) },
  { name: 'expressions of comments', text: (bytes) => expressions(bytes, repeated('/**/')) },
  {
    name: 'expressions of template literals',
    text: (bytes) => expressions(bytes, `${repeated('`${', 1_500)}1${repeated('}`', 1_000)}`),
  },
  {
    name: 'expressions with their faults behind escapes',
    text: (bytes) => expressions(bytes, `"${repeated('\\\\')}" + nope`),
  },
  {
    name: 'expressions of fifty faults',
    text: (bytes) => patches(bytes, (at) => `{path: metadata.labels.k${at}, expression: "${'nope+'.repeat(50)}1"}`),
  },
  {
    name: 'expressions in blocks of many lines',
    text: (bytes) =>
      filled(
        bytes,
        listHead,
        (at) =>
          `      - path: metadata.labels.k${at}\n        expression: |\n${'          nope +\n'.repeat(200)}          1\n`,
      ),
  },
  {
    name: 'expressions in blocks far to the right',
    text: (bytes) =>
      filled(
        bytes,
        listHead,
        (at) => `      - path: metadata.labels.k${at}\n        expression: |\n${' '.repeat(20_000)}nope\n`,
      ),
  },
  {
    name: 'pairs',
    text: (bytes) =>
      patches(bytes, (at) => `{path: metadata.labels.k${at}, expression: value, reverseExpression: value}`),
  },
  {
    name: 'labels with content',
    text: (bytes) => patches(bytes, (at) => `{path: metadata.labels.k${at}, labels: {a: b}}`),
  },
  { name: 'unknown keys at the top', text: (bytes) => filled(bytes, '', (at) => `k${at}: 1\n`) },
  { name: 'nearly hostward at the top', text: (bytes) => filled(bytes, '', (at) => `hostwar${at}: 1\n`) },
  { name: 'unknown keys of ours', text: (bytes) => filled(bytes, 'hostward:\n', (at) => `  k${at}: 1\n`) },
  {
    name: 'long unknown keys of ours',
    text: (bytes) => filled(bytes, 'hostward:\n', (at) => `  ${'k'.repeat(900)}${at}: 1\n`),
  },
  { name: 'keys given twice', text: (bytes) => filled(bytes, 'hostward:\n', () => '  a: 1\n') },
  { name: 'keys of dots', text: (bytes) => filled(bytes, '', (at) => `sync.${at}.a.b.c: 1\n`) },
  { name: 'one key of dots', text: (bytes) => `sync${'.a'.repeat((bytes - 10) / 2)}: 1\n` },
  { name: 'charts around the settings', text: (bytes) => filled(bytes, '', (at) => `k${at}: {sync: {toHost: {}}}\n`) },
  {
    name: 'mappings',
    text: (bytes) =>
      filled(
        bytes,
        'sync: {toHost: {namespaces: {enabled: true, mappings: {byName: {\n',
        (at) => `a${at}: b${at},\n`,
        '}}}}}\n',
      ),
  },
  {
    name: 'mappings to one namespace',
    text: (bytes) =>
      filled(
        bytes,
        'sync: {toHost: {namespaces: {enabled: true, mappings: {byName: {\n',
        (at) => `a${at}: b,\n`,
        '}}}}}\n',
      ),
  },
  {
    name: 'mappings of patterns',
    text: (bytes) =>
      filled(
        bytes,
        'sync: {toHost: {namespaces: {enabled: true, mappings: {byName: {\n',
        (at) => `"a${at}-*": "b${at}*",\n`,
        '}}}}}\n',
      ),
  },
  {
    name: 'networks',
    text: (bytes) =>
      filled(
        bytes,
        'hostward: {addressPolicy: {deny: [\n',
        (at) => `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}/32,\n`,
        ']}}\n',
      ),
  },
  {
    name: 'wrong networks',
    text: (bytes) => filled(bytes, 'hostward: {addressPolicy: {deny: [\n', (at) => `${at},\n`, ']}}\n'),
  },
  { name: 'one long network', text: (bytes) => `hostward: {addressPolicy: {deny: ["${':'.repeat(bytes - 60)}"]}}\n` },
  {
    name: 'patterns',
    text: (bytes) => filled(bytes, 'hostward: {exclude: {labels: [\n', (at) => `k${at}*,\n`, ']}}\n'),
  },
  {
    name: 'one long pattern',
    text: (bytes) => `hostward: {exclude: {labels: ["${'a*'.repeat((bytes - 60) / 2)}!"]}}\n`,
  },
  {
    name: 'rules of the role',
    text: (bytes) =>
      filled(
        bytes,
        'controlPlane: {}\nrbac: {role: {extraRules: [\n',
        () => '{apiGroups: [a], resources: [b], verbs: [c]},\n',
        ']}}\n',
      ),
  },
  { name: 'deep maps', text: (bytes) => '{a: '.repeat(bytes / 5) },
  { name: 'deep lists', text: (bytes) => '['.repeat(bytes) },
  { name: 'deep lists that close', text: (bytes) => `a: ${'['.repeat(bytes / 2 - 4)}${']'.repeat(bytes / 2 - 4)}` },
  { name: 'deep dashes', text: (bytes) => '- '.repeat(bytes / 2) },
  { name: 'deep indentation', text: (bytes) => filled(bytes, '', (at) => `${' '.repeat(at)}a:\n`) },
  { name: 'one huge scalar', text: (bytes) => `a: ${'x'.repeat(bytes - 4)}\n` },
  { name: 'one huge quoted scalar', text: (bytes) => `a: "${'\\n'.repeat(bytes / 2 - 4)}"\n` },
  { name: 'one huge block', text: (bytes) => filled(bytes, 'a: |\n', () => '  x\n') },
  { name: 'one huge folded block', text: (bytes) => filled(bytes, 'a: >\n', () => '  x\n\n') },
  { name: 'one huge plain text of lines', text: (bytes) => filled(bytes, 'a:\n', () => '  x\n') },
  { name: 'an open quote', text: (bytes) => filled(bytes, 'a: "\n', () => 'b: c\n') },
  { name: 'open quotes', text: (bytes) => filled(bytes, '', (at) => `k${at}: "\n`) },
  { name: 'comments', text: (bytes) => filled(bytes, 'hostward: {}\n', () => '# x\n') },
  { name: 'blank lines', text: (bytes) => filled(bytes, 'hostward: {}\n', () => '\n') },
  { name: 'blanks', text: (bytes) => `hostward: {}${' '.repeat(bytes - 20)}x\n` },
  { name: 'documents', text: (bytes) => filled(bytes, 'hostward: {}\n', () => '---\n') },
  { name: 'documents with content', text: (bytes) => filled(bytes, 'hostward: {}\n', () => '---\na: 1\n') },
  { name: 'tabs', text: (bytes) => filled(bytes, 'a:\n', () => '\tb: 1\n') },
  { name: 'lines of colons', text: (bytes) => filled(bytes, '', () => 'a: b: c\n') },
  { name: 'one line of colons', text: (bytes) => filled(bytes, 'a: ', () => 'b: ') },
  { name: 'templates', text: (bytes) => filled(bytes, '', () => '{{ if }}\n') },
  { name: 'one line of braces', text: (bytes) => `a${'{'.repeat(bytes - 10)}\n` },
  { name: 'aliases', text: (bytes) => filled(bytes, 'a: &a [1, 1, 1, 1, 1, 1, 1, 1]\nb:\n', () => '- *a\n') },
  {
    name: 'aliases of aliases',
    text: (bytes) => filled(bytes, 'a0: &a0 [1]\n', (at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]\n`),
  },
  {
    name: 'aliases of aliases in a list of ours',
    text: (bytes) =>
      filled(
        bytes,
        'a0: &a0 {path: metadata.labels.a, expression: value}\n',
        (at) => `a${at + 1}: &a${at + 1} [*a${at}]\n`,
      ),
  },
  {
    name: 'merge keys',
    text: (bytes) => filled(bytes, 'm0: &m0 {a: 1}\n', (at) => `m${at + 1}: &m${at + 1} {<<: *m${at}, k${at}: 1}\n`),
  },
  { name: 'aliases without an anchor', text: (bytes) => filled(bytes, '', (at) => `k${at}: *a\n`) },
  { name: 'tags', text: (bytes) => filled(bytes, '', (at) => `k${at}: !!binary x\n`) },
  { name: 'directives', text: (bytes) => filled(bytes, '', () => '%TAG ! tag:a\n') },
  { name: 'complex keys', text: (bytes) => filled(bytes, '', () => '? [a]\n: b\n') },
  { name: 'conflict marks', text: (bytes) => filled(bytes, '', () => '<<<<<<<\n') },
  {
    name: 'two places of ours that differ',
    text: (bytes) => {
      const half = filled(bytes / 2 - 40, '', (at) => `    k${at}: 1\n`);
      return `hostward:\n${half}global:\n  hostward:\n${half.replaceAll(': 1', ': 2')}`;
    },
  },
  {
    name: 'values of vCluster',
    text: (bytes) => filled(bytes, 'controlPlane:\n  a:\n', (at) => `    k${at}: {b: c}\n`),
  },
  { name: 'carriage returns', text: (bytes) => filled(bytes, '', (at) => `k${at}: 1\r`) },
];
