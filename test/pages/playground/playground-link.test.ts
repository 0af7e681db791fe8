import { describe, expect, it } from 'vitest';
import { type PlaygroundCase, playgroundLimits } from '../../../src/pages/playground-api.ts';
import { linkOf, readLink } from '../../../src/pages/playground-link.ts';

const given: PlaygroundCase = {
  config: '- path: a\n',
  virtual: 'kind: Ä\u202e<script>',
  hostBefore: '',
  hostEdited: 'x',
};

describe('the link of a case', () => {
  it('comes back as the case, and needs no escape in an address', async () => {
    const link = await linkOf(given);
    expect(link).toMatch(/^1\.[A-Za-z0-9_-]+$/);
    expect(await readLink(link)).toEqual({ kind: 'case', case: given });
  });

  it('says when it was cut, at any place', async () => {
    const link = await linkOf({ ...given, virtual: 'kind: Endpoints\n'.repeat(20) + Math.PI });
    for (let length = 0; length < link.length; length++)
      expect(await readLink(link.slice(0, length))).toMatchObject({
        kind: 'fault',
        sentence: expect.stringMatching(/copy it again, as a whole$/),
      });
  });

  it('says when one character was changed', async () => {
    const link = await linkOf({ ...given, virtual: 'kind: Endpoints\n'.repeat(20) + Math.PI });
    for (let at = 3; at < link.length - 1; at++) {
      const other = link[at] === 'A' ? 'B' : 'A';
      expect((await readLink(link.slice(0, at) + other + link.slice(at + 1))).kind).toBe('fault');
    }
  });

  it('says when it is of another version', async () => {
    expect(await readLink('2.abc')).toMatchObject({
      sentence: expect.stringContaining('another version of the playground'),
    });
  });

  it('does not unfold a short link into much memory', async () => {
    const link = await linkOf({ config: 'x'.repeat(playgroundLimits.bodyBytes - 200), virtual: '' });
    expect(await readLink(link)).toMatchObject({ kind: 'case' });
    const bomb = await compressed(new Uint8Array(50_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    expect(await readLink(`1.${bomb}`)).toMatchObject({
      sentence: expect.stringContaining('longer than 262144 bytes'),
    });
  });

  it.each(['1.', '1.e30', '1.!!', 'nothing'])('says that %s is no link', async (link) => {
    expect((await readLink(link)).kind).toBe('fault');
  });
});

async function compressed(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate'));
  return Buffer.from(await new Response(stream).arrayBuffer()).toString('base64url');
}
