import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Document, Scalar } from 'yaml';
import { load } from '../loading.ts';

const path = ['sync', 'toHost', 'endpoints', 'patches', 0, 'expression'];
const head = 'sync:\n  toHost:\n    endpoints:\n      patches:\n        - path: a\n          expression: ';

/** The text of the file from a given place in the expression on. */
function behind(expression: string, line: number, column: number): string | undefined {
  const text = head + expression;
  const at = load(text).positions.positionInScalar(path, line, column);
  return at && text.split('\n')[at.line - 1]?.slice(at.column - 1);
}

describe('positionInScalar()', () => {
  it.each([
    ['plain', 'value + oops(1)\n', 1, 9, 'oops(1)'],
    ['plain over two lines', 'value +\n            oops(1)\n', 1, 9, 'oops(1)'],
    ['plain with an empty line between', 'value +\n\n            oops(1)\n', 2, 1, 'oops(1)'],
    ['single quotes', "'a == ''b'' + oops'\n", 1, 12, "oops'"],
    ['double quotes', '"a == \\"b\\" + \\x41\\u0042 + oops"\n', 1, 17, 'oops"'],
    ['double quotes with a folded line', '"value +\n            oops"\n', 1, 9, 'oops"'],
    ['double quotes with an escaped line break', '"value + \\\n            oops"\n', 1, 9, 'oops"'],
    ['literal', '|\n            first\n              second + oops\n', 2, 12, 'oops'],
    ['literal that strips its end', '|-\n            first\n\n            oops\n\n', 3, 1, 'oops'],
    ['literal with an indentation of its own', '|2\n             first\n            oops\n', 2, 1, 'oops'],
    ['folded', '>\n            first\n            + oops\n', 1, 9, 'oops'],
    ['folded with deeper lines', '>-\n            first\n              + deeper\n            + oops\n', 3, 3, 'oops'],
    ['folded with empty lines', '>\n\n            first\n\n\n            + oops\n', 4, 3, 'oops'],
    ['a comment behind the header', '| # why\n            first + oops\n', 1, 9, 'oops'],
    ['carriage returns', '|\r\n            first\r\n            oops\r\n', 2, 1, 'oops\r'],
  ])('finds its way in %s', (_, expression, line, column, expected) => {
    expect(behind(expression, line, column)).toBe(expected);
  });

  it('stays inside the value, also for a place after its end', () => {
    expect(behind('value +\n', 1, 8)).toBe('');
    expect(behind('value +\n', 9, 99)).toBe('');
    expect(behind('"value +"\n', 1, 8)).toBe('"');
  });

  it('is the position of a value that is not a text, and of the parent of a missing value', () => {
    const { positions } = load('sync:\n  toHost:\n    endpoints: {}\n');
    expect(positions.positionInScalar(path, 1, 1)).toEqual({ file: 'f.yaml', line: 3, column: 16 });
    expect(positions.positionOf(['nowhere'])).toEqual({ file: 'f.yaml', line: 1, column: 1 });
  });

  it('points at the same character in every YAML style', () => {
    const styles: Scalar.Type[] = [
      Scalar.PLAIN,
      Scalar.QUOTE_SINGLE,
      Scalar.QUOTE_DOUBLE,
      Scalar.BLOCK_LITERAL,
      Scalar.BLOCK_FOLDED,
    ];
    const characters = fc.constantFrom(...'ab +"\'\\(){}:#\n\n  ');
    const texts = fc.array(characters, { minLength: 1, maxLength: 60 }).map((parts) => `x${parts.join('')}x`);
    fc.assert(
      fc.property(texts, fc.constantFrom(...styles), fc.integer({ min: 20, max: 80 }), (wanted, type, lineWidth) => {
        const scalar = new Scalar(wanted);
        scalar.type = type;
        const document = new Document({ sync: { toHost: { endpoints: { patches: [{ path: 'a' }] } } } });
        document.setIn(path, scalar);
        const text = document.toString({ lineWidth });
        const { positions, patches } = load(text);
        // The parsed value instead of `wanted`, because some texts cannot be written in every style.
        const value = patches[0]?.entry.expression ?? '';
        for (const [index, character] of [...value].entries()) {
          // Folded line breaks and doubled quotes have no exact position, so only other characters are compared.
          if (!/[a-z+(){}]/.test(character)) continue;
          const before = value.slice(0, index).split('\n');
          const at = positions.positionInScalar(path, before.length, (before.at(-1) as string).length + 1);
          expect(at && text.split('\n')[at.line - 1]?.[at.column - 1]).toBe(character);
        }
      }),
      { numRuns: 500 },
    );
  });
});
