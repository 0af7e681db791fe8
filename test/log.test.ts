import { describe, expect, it } from 'vitest';
import { createLog, textLine, wantsText } from '../src/log.ts';

function text(write: (log: ReturnType<typeof createLog>) => void): string {
  let line = '';
  write(createLog({ level: 'info', destination: { write: (json) => (line += textLine(json)) } }));
  return line.replace(/^\S+Z /, 'TIME ');
}

describe('a log line for people', () => {
  it('has level, component and message before the facts', () => {
    const line = text((log) => log.warn({ component: 'sync', object: 'default/web', writes: 3 }, 'object contested'));
    expect(line).toBe('TIME warn  sync: object contested object=default/web writes=3\n');
  });

  it('writes what is no plain word as JSON, so that nobody can begin a line of their own', () => {
    const line = text((log) => log.info({ name: 'a\nTIME error', list: ['a b'], empty: '' }, 'x'));
    expect(line).toBe('TIME info  x name="a\\nTIME error" list=["a b"] empty=""\n');
  });

  it('keeps the stack of a bug, below the line', () => {
    const line = text((log) => log.error({ component: 'sync', err: new Error('lost') }, 'unexpected'));
    expect(line).toMatch(/^TIME error sync: unexpected err=lost\n {4}Error: lost\n {4} +at /);
  });
});

it.each([
  ['auto', true, true],
  ['auto', false, false],
  ['json', true, false],
  ['text', false, true],
] as const)('the format %s on a terminal %s is text: %s', (format, isTerminal, isText) => {
  expect(wantsText(format, { isTerminal })).toBe(isText);
});
