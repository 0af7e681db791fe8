// Guarantees for many concurrent clients. They need no recorded answers, because the claims are the expectation.
import { describe, expect, it } from 'vitest';
import { type ApiClient, WatchStream } from '../client.ts';

interface Item {
  metadata: { name: string; resourceVersion: string; annotations?: Record<string, string> };
}

const writers = 16;

export function raceContract(at: { client: () => ApiClient }): void {
  const namespaceOf = async (name: string): Promise<string> => {
    const answer = await at.client().request('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
    expect(answer.status).toBe(201);
    return `/api/v1/namespaces/${name}`;
  };
  const all = <T>(run: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: writers }, (_, index) => run(index)));

  describe('many clients at once', () => {
    it('one create of a name wins and the others get AlreadyExists', async () => {
      const root = await namespaceOf('race-create');
      const answers = await all(() =>
        at.client().request('POST', `${root}/endpoints`, { body: { metadata: { name: 'a' } } }),
      );
      expect(counts(answers)).toEqual({ 201: 1, 409: writers - 1 });
    });

    it('one merge patch with the same resourceVersion wins and the others get Conflict', async () => {
      const root = await namespaceOf('race-patch-rv');
      const created = await at.client().request('POST', `${root}/endpoints`, { body: { metadata: { name: 'a' } } });
      const { resourceVersion } = (created.json as Item).metadata;
      const answers = await all((index) =>
        at.client().request('PATCH', `${root}/endpoints/a`, {
          headers: { 'content-type': 'application/merge-patch+json' },
          body: { metadata: { resourceVersion, annotations: { winner: String(index) } } },
        }),
      );
      expect(counts(answers)).toEqual({ 200: 1, 409: writers - 1 });
    });

    it('merge patches without a resourceVersion all take effect', async () => {
      const root = await namespaceOf('race-patch');
      await at.client().request('POST', `${root}/endpoints`, { body: { metadata: { name: 'a' } } });
      // The server retries a patch five times; with more concurrent patches, some would get a conflict.
      const few = 4;
      const answers = await Promise.all(
        Array.from({ length: few }, (_, index) =>
          at.client().request('PATCH', `${root}/endpoints/a`, {
            headers: { 'content-type': 'application/merge-patch+json' },
            body: { metadata: { annotations: { [`k${index}`]: 'v' } } },
          }),
        ),
      );
      expect(counts(answers)).toEqual({ 200: few });
      const after = (await at.client().request('GET', `${root}/endpoints/a`)).json as Item;
      expect(Object.keys(after.metadata.annotations ?? {})).toHaveLength(few);
    });

    it('one delete with a uid wins and the others get NotFound', async () => {
      const root = await namespaceOf('race-delete');
      await at.client().request('POST', `${root}/endpoints`, { body: { metadata: { name: 'a' } } });
      const answers = await all(() => at.client().request('DELETE', `${root}/endpoints/a`));
      expect(counts(answers)).toEqual({ 200: 1, 404: writers - 1 });
    });

    it('a watch delivers each of many writes once, in the order of versions', async () => {
      const root = await namespaceOf('race-watch');
      const stream = await at.client().watch(`${root}/endpoints?watch=true`);
      if (!(stream instanceof WatchStream)) throw new Error(`the watch answered ${stream.status}`);
      const rounds = 6;
      await all(async (index) => {
        await at.client().request('POST', `${root}/endpoints`, { body: { metadata: { name: `e${index}` } } });
        for (let round = 1; round < rounds; round++)
          await at.client().request('PATCH', `${root}/endpoints/e${index}`, {
            headers: { 'content-type': 'application/merge-patch+json' },
            body: { metadata: { annotations: { round: String(round) } } },
          });
      });
      const seen: Item[] = [];
      for (let taken = 0; taken < writers * rounds; taken++) seen.push((await stream.next())?.object as Item);
      stream.close();
      const versions = seen.map((item) => Number(item.metadata.resourceVersion));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      for (let index = 0; index < writers; index++) {
        const own = seen.filter((item) => item.metadata.name === `e${index}`);
        expect(own.map((item) => item.metadata.annotations?.['round'])).toEqual([undefined, '1', '2', '3', '4', '5']);
      }
    });

    it('the pages of a list contain each object once during other writes', async () => {
      const root = await namespaceOf('race-list');
      await all((index) =>
        at
          .client()
          .request('POST', `${root}/endpoints`, { body: { metadata: { name: `e${String(index).padStart(2, '0')}` } } }),
      );
      const names: string[] = [];
      let next = '';
      do {
        const page = await at.client().request('GET', `${root}/endpoints?limit=3&continue=${next}`);
        const list = page.json as { metadata: { continue?: string }; items: Item[] };
        names.push(...list.items.map((item) => item.metadata.name));
        next = list.metadata.continue ?? '';
        await at
          .client()
          .request('DELETE', `${root}/endpoints/e${String(writers - names.length / 3).padStart(2, '0')}`);
        await at.client().request('POST', `${root}/endpoints`, { body: { metadata: { name: `x${names.length}` } } });
      } while (next !== '');
      expect(names).toEqual(Array.from({ length: writers }, (_, index) => `e${String(index).padStart(2, '0')}`));
    });
  });
}

function counts(answers: { status: number }[]): Record<number, number> {
  const result: Record<number, number> = {};
  for (const { status } of answers) result[status] = (result[status] ?? 0) + 1;
  return result;
}
