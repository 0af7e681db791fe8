import { expect, it } from 'vitest';
import { plainMessage } from '../../../src/expression/evaluate/evaluation-error.ts';

const cases: [claim: string, message: string, value: unknown, source: string, plain: string][] = [
  ['removes the value', 'no user hunter2 here', 'hunter2', '', 'no user … here'],
  ['keeps a value that is shorter than four characters', 'no user abc here', 'abc', '', 'no user abc here'],
  ['removes long texts inside an object', 'no secretsecret', { a: [{ b: 'secretsecret' }] }, '', 'no …'],
  ['keeps short texts inside an object', 'no secret', { a: 'secret' }, '', 'no secret'],
  ['removes the longest text first', 'aaaaaaaabbbbbbbb', ['aaaaaaaa', 'aaaaaaaabbbbbbbb'], '', '…'],
  [
    'removes a searched text',
    "Cannot use 'in' operator to search for 'x' in secret",
    1,
    '',
    "Cannot use 'in' operator to search in a text",
  ],
  [
    'removes a quoted text',
    "Cannot create property 'a' on string 'secret'",
    1,
    'a',
    "Cannot create property 'a' on a text",
  ],
  [
    'keeps a key of the source',
    "Cannot read properties of null (reading 'key')",
    1,
    'value.key',
    "Cannot read properties of null (reading 'key')",
  ],
  [
    'hides a short key of a value',
    "Cannot read properties of null (reading 'key')",
    1,
    '',
    "Cannot read properties of null (reading '…')",
  ],
  [
    'shows the beginning of a long key',
    "Cannot read properties of null (reading 'longsecret')",
    1,
    '',
    "Cannot read properties of null (reading 'lo…')",
  ],
  ['removes a number of a value', 'Invalid code point 1234', 1, '', 'Invalid code point'],
  ['removes the guards', '$$wkey(...).x is not a function', 1, '', '….x is not a function'],
  ['replaces control characters', 'a\n\u0000\u202eb', 1, '', 'a b'],
  ['replaces an empty message', ' \n', 1, '', 'threw without a readable message'],
  ['shortens a long message', 'm'.repeat(300), 1, '', `${'m'.repeat(199)}…`],
];

it.each(cases)('plainMessage() %s', (_, message, value, source, plain) => {
  expect(plainMessage(message, value, source)).toBe(plain);
});
