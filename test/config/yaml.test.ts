import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/config/fault.ts';
import { loadConfiguration } from '../../src/config/load/load.ts';
import { runAtOnce } from '../../src/config/steps.ts';
import { parseYaml } from '../../src/config/yaml/parse-yaml.ts';
import { maxFileBytes, SourceText } from '../../src/config/yaml/source-text.ts';
import { toPlain } from '../../src/config/yaml/tree.ts';
import { plainScalar } from '../../src/config/yaml/yaml-scalar.ts';
import { named } from './loading.ts';

function parse(text: string): unknown {
  const parsed = runAtOnce(parseYaml(new SourceText('f.yaml', text)));
  return parsed.kind === 'tree' ? toPlain(parsed.root) : parsed.faults.map((of) => formatFault(of));
}

describe('plainScalar() reads scalars as the parser of vCluster does', () => {
  it.each([
    ['y', true],
    ['Yes', true],
    ['ON', true],
    ['n', false],
    ['Off', false],
    ['oN', 'oN'],
    ['~', null],
    ['', null],
    ['NULL', null],
    ['nUll', 'nUll'],
    ['0777', 511],
    ['0o17', 15],
    ['0x1F', 31],
    ['-0b11', -3],
    ['1_000', 1000],
    ['+12', 12],
    ['08', 8],
    ['1.', 1],
    ['.5', 0.5],
    ['-1.5e3', -1500],
    ['1e3', 1000],
    ['12:30:45', '12:30:45'],
    ['2001-12-14', '2001-12-14'],
    ['v1', 'v1'],
    ['-', '-'],
    ['.', '.'],
    ['_', '_'],
    ['1.2.3', '1.2.3'],
    ['0x', '0x'],
  ])('%j is %j', (text, value) => {
    expect(plainScalar(text)).toBe(value);
  });
});

describe('parseYaml()', () => {
  it('reads quoted and tagged scalars as texts', () => {
    expect(parse('a: "yes"\nb: !!str 5\nc: \'1\'\nd: |\n  on\ne: 5')).toEqual({
      a: 'yes',
      b: '5',
      c: '1',
      d: 'on\n',
      e: 5,
    });
  });

  it('reads keys as vCluster does: on is true, 1 is "1"', () => {
    expect(parse('on: a\n1: b\n"c": d')).toEqual({ true: 'a', 1: 'b', c: 'd' });
    expect(parse('1: a\n"1": b')).toHaveLength(1);
    expect(parse('? [a, b]\n: c')).toHaveLength(1);
  });

  it('resolves aliases, also to an anchor that is set a second time', () => {
    expect(parse('a: &x 1\nb: *x\nc: &x 2\nd: *x')).toEqual({ a: 1, b: 1, c: 2, d: 2 });
  });

  it('applies merge keys: own keys win, then the earlier map', () => {
    const text = 'x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], a: 0}\nq: {"<<": 1}';
    expect(parse(text)).toMatchObject({ z: { a: 0, b: 1, c: 2 }, q: { '<<': 1 } });
  });

  it('limits size, nesting, aliases, merged maps and tokens', () => {
    const tooLong = `a: "${'x'.repeat(maxFileBytes)}"`;
    const load = (text: string) => loadConfiguration({ environment: named, files: [{ name: 'f', text }] });
    const codes = (text: string) => {
      const loaded = load(text);
      return loaded.kind === 'ok' ? [] : loaded.faults.map((of) => of.code);
    };
    expect(codes(tooLong)).toEqual(['CONFIG_FILE_TOO_LARGE']);
    expect(codes('a: [b, c]\n'.repeat(20_000))).toEqual(['CONFIG_YAML_TOO_LARGE']);
    expect(codes(`a: ${'['.repeat(150)}${']'.repeat(150)}`)).toEqual(['CONFIG_YAML_TOO_LARGE']);
    const chained = [
      'm0: &m0 {k0: 1}',
      ...Array.from({ length: 2000 }, (_, i) => `m${i + 1}: &m${i + 1} {<<: *m${i}, k${i + 1}: 1}`),
    ];
    expect(codes(chained.join('\n'))).toContain('CONFIG_YAML_TOO_LARGE');
    expect(codes('['.repeat(30_000))).toEqual(['CONFIG_YAML_TOO_LARGE']);
  });

  it('reports one fault per line, and at most five lines', () => {
    expect(parse('a: b: c: d\n'.repeat(20))).toHaveLength(5);
  });
});

describe('files that are not texts', () => {
  const codes = (text: string | Uint8Array) => {
    const loaded = loadConfiguration({ environment: named, files: [{ name: 'f', text }] });
    return loaded.kind === 'ok' ? [] : loaded.faults.map((of) => formatFault(of));
  };

  it('are refused: NUL, UTF-16 and broken UTF-8', () => {
    expect(codes('a: b\0c')).toEqual(['f:1:5: wanted a text in UTF-8, found a NUL character; save it as UTF-8']);
    expect(codes(Buffer.from('\ufeffa: b', 'utf16le'))).toEqual([
      'f:1:1: wanted a text in UTF-8, found bytes that are not UTF-8; save it as UTF-8',
    ]);
    expect(codes(Buffer.from([0x61, 0x3a, 0x20, 0xff]))).toEqual([
      'f:1:4: wanted a text in UTF-8, found bytes that are not UTF-8; save it as UTF-8',
    ]);
    expect(codes('a:\nb: \ufffd')).toEqual([
      'f:2:4: wanted a text in UTF-8, found bytes that are not UTF-8; save it as UTF-8',
    ]);
  });

  it('may begin with a byte order mark, which does not count as a column', () => {
    expect(codes('\ufeffhostward: {}')).toEqual([]);
    expect(codes(Buffer.from('\ufeffhostward: 5'))[0]).toMatch(
      /^f:1:11: hostward: wanted a map, found 5; the keys are /,
    );
  });

  it('may end their lines with carriage returns', () => {
    expect(codes('hostward:\r\n  backSync: none\r\n  logLevel: loud\r\n')[0]).toMatch(/^f:3:13: /);
  });
});

describe('loadConfiguration() never throws', () => {
  const configuration = fc.constantFrom(
    'sync:',
    'toHost:',
    'endpoints:',
    'patches:',
    '- path:',
    'expression:',
    'hostward:',
    'global:',
    'namespaces:',
    'mappings:',
    'byName:',
    'enabled:',
    'reference:',
    'labels:',
    '<<:',
    '&a',
    '*a',
    '!!str',
    '?',
    '|',
    '>-',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '#',
    '---',
    '...',
    '%YAML 1.1',
    '\n',
    '\n  ',
    '\n    ',
    '\n      ',
    '\t',
    ' ',
    ':',
    '- ',
    'yes',
    '~',
    '0x1',
    `\${name}`,
    '*',
    '\\',
    '\u2028',
    '\r\n',
    '__proto__:',
    'a',
    'é',
    '💥',
  );
  const anything = fc.oneof(
    fc.array(configuration, { maxLength: 60 }).map((parts) => parts.join('')),
    fc.array(configuration, { maxLength: 60 }).map((parts) => parts.join(' ')),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.json({ maxDepth: 4 }),
  );

  it('for any text, and names a position in the text', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const loaded = loadConfiguration({ environment: named, files: [{ name: 'f', text }] });
        for (const of of loaded.kind === 'faults' ? [...loaded.faults, ...loaded.warnings] : loaded.warnings) {
          expect(formatFault(of, loaded.texts)).not.toContain('undefined');
          if (of.line === undefined) continue;
          expect(of.line).toBeLessThanOrEqual(text.split('\n').length);
          expect(of.column).toBeGreaterThan(0);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('for any shape of our own settings', () => {
    const leaf = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('auto', '*', 'a-*', 'v1'),
    );
    const keys = fc.constantFrom(
      'enabled',
      'patches',
      'path',
      'expression',
      'labels',
      'reference',
      'kind',
      'apiVersion',
      'byName',
      'mappings',
      'exclude',
      'endpoints',
      'addressPolicy',
      'allow',
      'namespaces',
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        leaf,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, value, value, (endpoints, namespaces, hostward) => {
        const text = JSON.stringify({
          sync: { toHost: { endpoints, namespaces } },
          hostward,
          global: { hostward: endpoints },
        });
        loadConfiguration({ environment: named, files: [{ name: 'f', text }] });
      }),
      { numRuns: 1000 },
    );
  });
});
