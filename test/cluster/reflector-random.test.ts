// Any mixture of changes and faults, in any order: the window must end with the objects of the server, and must never
// report an existing object as removed.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { settle, VirtualClock } from '../virtual-clock.ts';
import { ScriptedServer, type Sort, sendStatus } from './scripted-server.ts';
import { connectTo, openTestWindow, passing } from './subject.ts';

type Act =
  | { do: 'put' | 'remove' | 'own' | 'ownRemove'; name: number }
  | { do: 'end' | 'reset' | 'compact' | 'bookmark' | 'repeat' | 'relist' | 'garbage' }
  | { do: 'fail'; sort: Sort; code: number }
  | { do: 'pass'; ms: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('put', 'remove', 'own', 'ownRemove'), name: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('end', 'reset', 'compact', 'bookmark', 'repeat', 'relist', 'garbage') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fail'),
      sort: fc.constantFrom<Sort>('list', 'watch'),
      code: fc.constantFrom(401, 403, 410, 429, 500, 503),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(0, 20, 300, 2_000, 80_000) }) },
) as fc.Arbitrary<Act>;

test('the window ends with the objects of the server after random changes and faults', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 30 }), async (acts) => {
      const server = new ScriptedServer();
      await server.listen();
      const clock = new VirtualClock();
      const connection = connectTo(server.url, clock);
      const window = openTestWindow({ connection, clock });
      const shown = new Set<string>();
      window.subscribe({
        changed({ key, kind }) {
          if (kind === 'set') shown.add(key);
          else shown.delete(key);
        },
      });
      const perform = async (each: Act): Promise<void> => {
        switch (each.do) {
          case 'put':
            server.put(`n${each.name}`, { value: server.rv });
            return;
          case 'remove':
            server.remove(`n${each.name}`);
            return;
          case 'own': {
            const isNew = !window.has(`default/n${each.name}`);
            window.remember(server.put(`n${each.name}`, { value: server.rv }));
            if (isNew) shown.add(`default/n${each.name}`);
            return;
          }
          case 'ownRemove': {
            const known = server.objects.get(`default/n${each.name}`);
            if (known === undefined) return;
            server.remove(`n${each.name}`);
            window.forget(`default/n${each.name}`, known.metadata.resourceVersion);
            if (!window.has(`default/n${each.name}`)) shown.delete(`default/n${each.name}`);
            return;
          }
          case 'end':
          case 'reset':
            server.endWatches(each.do);
            return;
          case 'compact':
            server.rv++;
            server.compact();
            return;
          case 'bookmark':
            // The bookmark carries the newest version; an older one would mean a server that went back in time.
            server.bookmark();
            return;
          case 'repeat': {
            const last = server.history.at(-1);
            if (last !== undefined) server.raw(`${JSON.stringify({ type: last.type, object: last.object })}\n`);
            return;
          }
          case 'garbage':
            server.raw('{"type":\n');
            return;
          case 'relist':
            void window.relist('random').catch(() => undefined);
            return;
          case 'fail':
            server.script(each.sort, ({ response }) => sendStatus(response, each.code, 'Random', 'random'));
            return;
          case 'pass':
            await clock.advance(each.ms);
            return;
          default:
            each satisfies never;
        }
      };
      for (let name = 0; name < 4; name++) server.put(`n${name}`, { value: 0 });
      window.start();
      await passing(clock, () => server.watches.size === 1);
      for (const each of acts) {
        await perform(each);
        // Without the wait, several changes happen in one turn of the event loop.
        if (each.do !== 'put' && each.do !== 'remove') await settle(2);
      }
      server.scripts.length = 0;
      const wanted = () => [...server.objects].map(([key, object]) => [key, object['value']]).sort();
      const found = () => [...window.keys()].map((key) => [key, window.get(key)?.value]).sort();
      const isTrue = () => window.hasSynced && JSON.stringify(found()) === JSON.stringify(wanted());
      await passing(clock, isTrue, { stepMs: 250, what: 'the window to show the objects of the server' });
      // Late events must not change the window again.
      await clock.advance(5_000);
      expect(found()).toEqual(wanted());
      expect([...shown].sort()).toEqual([...window.keys()].sort());
      await window.stop();
      await connection.close();
      await server.close();
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 40 },
  );
}, 60_000);
