// Rule 14 with every spelling of an address, and objects beyond other limits: refused and reported, without delaying others.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { baseKey } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { stageForEach } from '../stage-for-each.ts';
import { type SyncBackend, until } from '../sync-stage/backend.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

interface AddressCase {
  text: string;
  special?: string;
  problem?: string;
}

const read = (file: string): AddressCase[] =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/object/${file}`, import.meta.url), 'utf8')).cases;
const corpus = [...read('addresses.json'), ...read('addresses-refused.json')];

export function addressesSuite(backend: () => SyncBackend): void {
  describe('addresses', () => {
    let stage: SyncStage;
    stageForEach(backend, (made) => {
      stage = made;
    });

    it('no spelling of a forbidden address reaches the host, and no refused object delays another', async () => {
      await stage.pair({ name: 'good' });
      // Older API servers may have stored addresses that current ones refuse.
      for (const [at, { text }] of corpus.entries()) {
        const name = `spelt-${at}`;
        await stage.service({ name, onHost: false });
        await backend().virtual.smuggle({ metadata: { namespace: stage.tenant, name }, subsets: subsetsOf(text) });
      }
      const daemon = await stage.daemon();
      for (const [at, { text, special, problem }] of corpus.entries()) {
        const copy = await stage.copy(`spelt-${at}`);
        const state = daemon.of(`spelt-${at}`)?.state;
        if (special !== undefined || problem !== undefined) {
          expect([text, copy, state]).toEqual([text, undefined, 'refused/AddressRefused']);
        } else {
          // The host may refuse an address that the policy allows.
          expect([text, state === 'refused/HostRefused' ? [text] : ipsOf(copy)]).toEqual([text, [text]]);
        }
      }
      await stage.editTenants('good', { subsets: subsetsOf('10.0.0.8') });
      await daemon.settled();
      expect(ipsOf(await stage.copy('good'))).toEqual(['10.0.0.8']);
      await daemon.stop();
      await stage.forgetWrites();
      await stage.daemon();
      expect((await stage.writes()).filter((one) => !one.endsWith(' 422'))).toEqual([]);
    });

    it('the API server itself refuses the special addresses that it knows', async () => {
      for (const text of [
        '127.0.0.1',
        '::1',
        '169.254.169.254',
        'fe80::1',
        '224.0.0.1',
        '0.0.0.0',
        '::',
        '10.0.0.256',
        'localhost',
      ]) {
        const body = { metadata: { name: 'refused' }, subsets: subsetsOf(text) };
        const path = `/api/v1/namespaces/default/endpoints`;
        expect([text, (await backend().virtual.admin.request('POST', path, { body })).status]).toEqual([text, 422]);
      }
    });

    it('one refused address refuses the object, and the event names up to three addresses with their rule', async () => {
      const daemon = await stage.daemon({ config: { hostward: { addressPolicy: { deny: ['10.5.0.0/16'] } } } });
      await stage.pair({ name: 'web' });
      await daemon.settled();
      expect(await stage.copy('web')).toBeDefined();
      await stage.editTenants('web', {
        subsets: subsetsOf('10.0.0.1', '10.5.0.1', '10.5.0.2', '10.5.0.3', '10.5.0.4'),
      });
      await daemon.settled();
      expect(await stage.copy('web')).toBeUndefined();
      const event = await until('an event', async () =>
        (await stage.events('web')).find(({ reason }) => reason === 'AddressRefused'),
      );
      expect(event).toMatchObject({ type: 'Warning' });
      expect(event.message).toContain(
        '"10.5.0.1" (denied by 10.5.0.0/16), "10.5.0.2" (denied by 10.5.0.0/16), "10.5.0.3"',
      );
      expect(event.message).toContain('and 1 more');
      expect(event.message).not.toContain('10.5.0.4');
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.1') });
      await daemon.settled();
      expect(ipsOf(await stage.copy('web'))).toEqual(['10.0.0.1']);
    });

    it('a stricter policy removes copies, and a looser policy restores them', async () => {
      await stage.pair({ name: 'v4' });
      await stage.pair({ name: 'v6', ips: ['fd00::1'] });
      const daemon = await stage.daemon();
      expect(ipsOf(await stage.copy('v6'))).toEqual(['fd00::1']);
      daemon.apply({ hostward: { addressPolicy: { allow: ['10.0.0.0/8'] } } });
      await daemon.settled();
      expect(await stage.copy('v6')).toBeUndefined();
      expect(await stage.copy('v4')).toBeDefined();
      daemon.apply({ hostward: { addressPolicy: { deny: ['10.0.0.0/8'] } } });
      await daemon.settled();
      expect(ipsOf(await stage.copy('v6'))).toEqual(['fd00::1']);
      expect(await stage.copy('v4')).toBeUndefined();
    });
  });

  describe('objects at the size limits', () => {
    let stage: SyncStage;
    stageForEach(backend, async (made) => {
      stage = made;
      await stage.pair({ name: 'small' });
    });

    const expectOthersServed = async (): Promise<void> => {
      await stage.editTenants('small', { subsets: subsetsOf('10.0.0.9') });
      await until('the small object', async () =>
        ipsOf(await stage.copy('small'))[0] === '10.0.0.9' ? true : undefined,
      );
    };

    it('an object with 10,000 addresses is copied completely, and an edit of one address is one write', async () => {
      const ips = Array.from({ length: 10_000 }, (_, at) => `10.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`);
      await stage.pair({ name: 'wide', ips });
      const daemon = await stage.daemon();
      expect(ipsOf(await stage.copy('wide'))).toEqual(ips);
      await stage.forgetWrites();
      await stage.editTenants('wide', { subsets: subsetsOf(...ips.slice(1)) });
      await daemon.settled();
      expect(ipsOf(await stage.copy('wide'))).toEqual(ips.slice(1));
      expect(await stage.writes()).toHaveLength(1);
      await expectOthersServed();
    });

    it('a copy that is too large for the host is refused and reported, and delays no other object', async () => {
      const { name } = (await tooLarge(stage)).metadata;
      const daemon = await stage.daemon();
      await until('the verdict', () =>
        /^(refused|retry)/.test(daemon.of(name ?? '')?.state ?? '') ? true : undefined,
      );
      await expectOthersServed();
      await daemon.clock.jump(20_000);
      expect((await stage.writes()).filter((one) => / [45]\d\d$/.test(one)).length).toBeLessThanOrEqual(16);
      expect(daemon.of(name ?? '')?.state).toBe('refused/HostRefused');
      await until('an event', async () =>
        (await stage.events(name ?? '')).find(({ reason }) => reason === 'HostRefused'),
      );
      await stage.editTenants(name ?? '', { subsets: subsetsOf('10.0.0.3') });
      await until('a smaller copy', async () =>
        ipsOf(await stage.copy(name ?? ''))[0] === '10.0.0.3' ? true : undefined,
      );
      await daemon.settled();
    });

    it('an object whose annotations leave no space for the base is synced without a base', async () => {
      const keys = Array.from({ length: 3000 }, (_, at) => [`key-${at}`, 'v'.repeat(58)]);
      await stage.pair({ name: 'wordy', metadata: { annotations: Object.fromEntries(keys) } });
      const daemon = await stage.daemon();
      expect((await stage.copy('wordy'))?.metadata.annotations?.['key-7']).toBe('v'.repeat(58));
      expect((await stage.copy('wordy'))?.metadata.annotations?.[baseKey]).toBeUndefined();
      await daemon.stop();
      await stage.forgetWrites();
      const next = await stage.daemon();
      await next.settled();
      expect(await stage.writes()).toEqual([]);
    });

    it('an object whose annotations leave no space for the six is refused', async () => {
      await stage.pair({ name: 'full', metadata: { annotations: { a: 'v'.repeat(256 * 1024 - 100) } } });
      const daemon = await stage.daemon();
      expect(daemon.of('full')?.state).toBe('refused/HostRefused');
      await expectOthersServed();
    });
  });
}

/** An object just within the limit of the virtual server. Its copy exceeds the limit, because Pod names are longer there. */
async function tooLarge(stage: SyncStage): Promise<KubeObject> {
  // An embedded server limits the stored JSON; a real server limits the request body.
  const most = stage.backend.hasControllers ? 46_000 : 16_000;
  for (let count = most; ; count = Math.floor(count * 0.96)) {
    const addresses = Array.from({ length: count }, (_, at) => ({
      ip: `10.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`,
      targetRef: { kind: 'Pod', namespace: 'n', name: `p-${at}` },
    }));
    try {
      return await stage.pair({
        name: 'large',
        subsets: [{ addresses, ports: [{ port: 80 }] }],
        service: { onHost: false },
      });
    } catch (error) {
      if (!String(error).includes('too large') || count < 1000) throw error;
      await stage.remove('virtual', 'services', { namespace: stage.tenant, name: 'large' });
    }
  }
}
