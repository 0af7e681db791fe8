import { expect, it } from 'vitest';
import type { Delivery, History } from './history.ts';
import { Client } from './play/client.ts';
import type { Verdict } from './play/patience.ts';
import { Recorder } from './play/recorder.ts';
import type { Reach } from './subjects/subject.ts';

const promises = { areReadsFresh: false, hasGaps: true, canBeKilled: false, canBeFull: false, canBeCut: true };
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('a watch that is refused when it is resumed, while another one is waited for, is not taken for a dead one', async () => {
  const history: History = {
    ...{
      store: 'by hand',
      seed: 0,
      promises,
      operations: [],
      watches: [],
      kills: 0,
      cuts: 1,
      base: 0,
      troubles: [],
      unjudged: [],
    },
  };
  const watches: { prefix: string; afterRevision: number; deliver: (delivery: Delivery) => void }[] = [];
  let refuse: () => void = () => undefined;
  const reach: Reach = {
    ask: async () => ({ kind: 'page', records: [], revision: 20, hasMore: false, remaining: 0 }),
    async watch(prefix, afterRevision, deliver) {
      watches.push({ prefix, afterRevision, deliver });
      // The third one is the first that is resumed.
      if (watches.length !== 3) return { bookmark: async () => {}, close: () => {} };
      await new Promise<void>((resolve) => {
        refuse = resolve;
      });
      return { compactedRevision: 15 };
    },
  };
  const client = new Client(0, reach, new Recorder({ history, blows: [], strike: () => undefined }));
  await client.play([
    { do: 'watch', prefix: '/a/', from: 'now' },
    { do: 'watch', prefix: '/b/', from: 'now' },
  ]);
  const late = Promise.withResolvers<Verdict>();
  const resting = client.rest(new Map([['/a/10', 5]]).set('/b/1', 6), late.promise);
  await turn();
  watches[1]?.deliver({ kind: 'end', how: 'lost' });
  watches[0]?.deliver({ kind: 'bookmark', revision: 5 });
  await turn();
  refuse();
  await turn();
  late.resolve('dead');
  await resting;
  expect(watches.map(({ prefix, afterRevision }) => [prefix, afterRevision])).toEqual([
    ['/a/', 0],
    ['/b/', 0],
    ['/b/', 0],
    ['/b/', 20],
  ]);
  expect(history.troubles).toEqual([]);
});
