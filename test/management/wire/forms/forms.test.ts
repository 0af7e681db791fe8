import { describe, expect, it } from 'vitest';
import { Dice } from '../../model/dice.ts';
import { bytesOf, forms, plain } from './forms.ts';
import { fuzz } from './fuzz-forms.ts';
import { answersIn } from './raw-client.ts';

describe('forms of a request', () => {
  const wire = { method: 'POST', path: '/kubernetes/management/apis/a/v1/things?dryRun=All', body: { a: 1 } };
  it('are all different from the request as it is, and can be sent', () => {
    const usual = bytesOf(plain('key', wire), true).toString('latin1');
    const told = forms.flatMap((form) => {
      const sent = form.apply(plain('key', wire), new Dice(7));
      return sent === undefined ? [] : [[form.name, bytesOf(sent, true).toString('latin1')] as const];
    });
    expect(told.filter(([name, text]) => text === usual && name !== 'as it is')).toEqual([]);
    expect(told.length).toBeGreaterThan(30);
    for (const [, text] of told) expect(text).toMatch(/^POST \S+ HTTP\/1\.1\r\n/);
  });
});

describe('answersIn()', () => {
  it('reads several answers of one connection, whole and in chunks, and stops at what is no answer', () => {
    const text =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}' +
      'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\nHTTP/1.1 4';
    expect(answersIn(text).map(({ code, text: body }) => [code, body])).toEqual([
      [200, '{}'],
      [403, 'abcd'],
    ]);
  });
});

describe('fuzz()', () => {
  const seeds = Array.from({ length: 14 }, (_, seed) => seed);
  it('finds no difference between a server and the model, and finds a model that is wrong', async () => {
    const { asked, sent, found } = await fuzz(seeds);
    expect(found).toEqual([]);
    expect(asked).toBeGreaterThan(8);
    expect(sent.size).toBeGreaterThan(5);
    const wrong = () => ({ answer: { allowed: true, sees: [] }, because: ['it is wrong'] });
    expect((await fuzz(seeds, { judge: wrong })).found.length).toBeGreaterThan(0);
  });
});
