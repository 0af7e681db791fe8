import { describe, expect, it } from 'vitest';
import { textWithoutUsers, urlWithoutUser } from '../../../src/object/text/url-user.ts';

describe('urlWithoutUser()', () => {
  it.each([
    ['https://example.test/path', 'https://example.test/path'],
    ['https://u:p@example.test/path?q', 'https://…@example.test/path?q'],
    ['HTTPS://u:p@w"o r/d@example.test', 'HTTPS://…@example.test'],
    ['u:p@example.test:6443', '…@example.test:6443'],
    ['https://example.test/a@b', 'https://…@b'],
    ['', ''],
  ])('%s', (url, shown) => expect(urlWithoutUser(url)).toBe(shown));
});

describe('textWithoutUsers()', () => {
  it.each([
    ['asking https://u:p@one.test and http://two.test: no', 'asking https://…@one.test and http://two.test: no'],
    ['proxy: "http://u:p@w@proxy.test:3128"', 'proxy: "http://…@proxy.test:3128"'],
    ['write to team@example.test, see https://example.test', 'write to team@example.test, see https://example.test'],
  ])('%s', (text, shown) => expect(textWithoutUsers(text)).toBe(shown));

  it('keeps every character in its column for a line with a caret', () => {
    expect(textWithoutUsers('a: http://u:p@x # y', 'stars')).toBe('a: http://***@x # y');
  });
});
