import { describe, expect, it } from 'vitest';
import { shortText } from '../../src/cli/running/short-text.ts';
import { statusMain } from '../../src/pages/status/status-page.ts';
import { attentionIn, attentionOf } from '../../src/sync/report/attention/attention.ts';
import { objectRemedies } from '../../src/sync/report/attention/remedies.ts';
import { type StatusJson, say } from '../../src/sync/report/words.ts';
import { leavesOf, missingFields, textOf } from './fields.ts';
import { cases, failing, rightless, type ToldVerdict } from './status-cases.ts';

describe.each(cases)('the status page of a daemon that is %s', (_, status) => {
  const page = statusMain(status, [], { asOf: new Date('2026-01-01T00:00:00Z') }).text;
  const lines = textOf(page).split('\n');

  it('has every field of `status -o json`, in the words of the command', () => {
    const { sentence, parts = [{ part: sentence }], ...verdict } = status['verdict'] as unknown as ToldVerdict;
    expect(missingFields(status, page)).toEqual([]);
    for (const { value } of leavesOf({ parts, ...verdict }))
      expect(lines.some((line) => line.includes(say(value)))).toBe(true);
  });

  it('begins with the verdict', () => {
    const text = lines.filter((line) => line.trim() !== '');
    const { sentence } = status['verdict'] as { sentence: string };
    expect(text[0]).toBe('Status');
    const { parts = [] } = status['verdict'] as unknown as ToldVerdict;
    if (parts.length === 0) expect(text[2]?.trim()).toBe(sentence);
    for (const { part } of parts) expect(text[2]).toContain(part);
    expect(text[4]?.trim()).toBe((status['verdict'] as { since: string }).since);
  });

  it('tells the words of a server that refuses once', () => {
    const refusals = [...textOf(page).matchAll(/[^\n]*: User "[^"]*" cannot [^\n]*/g)].map(([line]) => line);
    expect(refusals).toEqual([...new Set(refusals)]);
  });

  it('takes names and values of tenants as text', () => {
    const tags = [...page.matchAll(/<(\w+)/g)].map(([, tag]) => tag as string);
    expect(tags.filter((tag) => ['script', 'img', 'b', 'i'].includes(tag))).toEqual([]);
    expect(page).not.toMatch(/ style="| on\w+="/);
  });
});

/** With one object in each list. */
function rowStatus(lists: Record<'trouble', object[]> & { contested?: object[] }): StatusJson {
  const options = [{ option: 'config', value: '/home/me/v.yaml' }];
  const kubeconfigs = { virtualKubeconfig: '/home/me/virtual', hostKubeconfig: '/home/me/host' };
  const place = { object: 'shop/api', hostObject: 'vcluster-shop/api-x-shop-x-vc' };
  const rows = Object.entries(lists).map(([name, all]) => [name, all.map((row) => ({ ...place, ...row }))]);
  return {
    kind: 'Endpoints',
    settings: 'sync.toHost.endpoints',
    startedAs: {
      program: 'hostward',
      options,
      settingsFile: '/home/me/v.yaml',
      restart: 'hostward run',
      ...kubeconfigs,
    },
    ...Object.fromEntries(rows),
  };
}

describe('what needs a person', () => {
  it('has a row for each thing, with a reason, a remedy and a command', () => {
    const items = attentionOf(failing);
    expect(items.map(({ about, reason }) => `${about} ${reason}`)).toEqual([
      'host cluster unreachable',
      'host cluster NotTaken',
      'events Forbidden',
      'permissions MissingVerbs',
      'configuration ConfigurationInvalid',
      'configuration ConfigurationNotTakenOver',
      'configuration RestartNeeded',
      'shop/<script>alert(3)</script> NotOwned',
      'shop/api PatchFailed',
      'shop/web DeleteWithheld',
      'shop/slow retry',
      'shop/back BackflowFailed',
      'shop/api-x7k2p AddressRefused',
      'shop/fight Contested',
      'Secret shop/tls unresolved',
      'management API Trouble',
      'access key ends-first-<b> EndingSoon',
      'access key ends-second EndingSoon',
    ]);
    for (const { message, remedy, command } of items) {
      expect(message).not.toBe('none');
      expect(remedy).toMatch(/\w \w/);
      expect(command).toMatch(/^(npx hostward|kubectl)( --\w.*)? \w/);
    }
  });

  it.each([
    [
      { state: 'refused/AddressRefused', message: 'the address policy refuses "10.9.0.1" (denied by 10.9.0.0/16)' },
      "correct the addresses in the tenant's object, or let them through in hostward.addressPolicy in /home/me/v.yaml",
      'kubectl --kubeconfig /home/me/virtual --namespace shop edit endpoints api',
    ],
    [
      {
        state: 'refused/AddressRefused',
        message: 'the address policy refuses "127.0.0.1" (loopback addresses are always refused)',
      },
      "correct the addresses in the tenant's object; no setting lets these through",
      'kubectl --kubeconfig /home/me/virtual --namespace shop edit endpoints api',
    ],
    [
      { state: 'refused/PatchFailed', message: 'patch 3 failed at "metadata.labels.a": no' },
      "correct sync.toHost.endpoints.patches[3] in /home/me/v.yaml, or the value in the tenant's object on which it fails; this tries the patches on the object",
      'kubectl --kubeconfig /home/me/virtual --namespace shop get endpoints api --output yaml | hostward render --config /home/me/v.yaml --explain -f -',
    ],
    [
      { state: 'inSync/BackflowFailed', message: 'label a cannot be reversed' },
      'correct the value on the host, or the reverse expression in sync.toHost.endpoints.patches in /home/me/v.yaml',
      'kubectl --kubeconfig /home/me/host --namespace vcluster-shop edit endpoints api-x-shop-x-vc',
    ],
    [
      { state: 'refused/NotOwned', message: 'taken' },
      'rename the virtual object, or remove the other object on the host; this shows it',
      'kubectl --kubeconfig /home/me/host --namespace vcluster-shop get endpoints api-x-shop-x-vc --output yaml',
    ],
    [
      { state: 'refused/HostRefused', message: 'a quota of the host namespace is full: exceeded quota: q' },
      'raise the quota, or remove what counts and is not needed; this shows how much of what there is, with a kubectl of an administrator of the host cluster',
      'kubectl --namespace vcluster-shop describe resourcequota',
    ],
    [
      { state: 'inSync/BackflowFailed', message: 'the virtual cluster does not allow "patch" on endpoints' },
      'grant "patch" of endpoints in the virtual cluster; this grants all that is missing, with a kubectl of an administrator of the virtual cluster',
      'hostward doctor --config /home/me/v.yaml --rights virtual | kubectl auth reconcile -f -',
    ],
    [
      { state: 'retry', message: '500 failed calling webhook "w.example.com": connection refused' },
      'mend what the webhook "w.example.com" calls, or let it pass what it cannot judge; this shows it, with a kubectl of an administrator of the host cluster',
      'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
    ],
    [
      { state: 'waiting/HostNamespaceMissing', message: 'its host namespace does not exist' },
      'correct the mapping in sync.toHost.namespaces, or create the host namespace, with a kubectl of an administrator of the host cluster',
      'kubectl create namespace vcluster-shop',
    ],
  ])('says which setting or which object mends it, with the command: %j', (row, remedy, command) => {
    expect(attentionOf(rowStatus({ trouble: [row] }))[0]).toMatchObject({ remedy, command });
  });

  it('says the same on the page of the object, and nothing where nobody is needed', () => {
    const asked = { status: rowStatus({ trouble: [] }), address: undefined };
    const about = { object: 'shop/api', kind: 'Endpoints', hostObject: 'vcluster-shop/api-x-shop-x-vc' };
    const contested = { ...about, state: 'inSync/Contested', contestedBy: 'kubectl-edit' };
    const [item] = attentionOf(rowStatus({ trouble: [], contested: [{ by: 'kubectl-edit', sinceSeconds: 3 }] }));
    expect(objectRemedies(asked, contested)).toEqual([{ remedy: item?.remedy, command: item?.command }]);
    expect(
      objectRemedies(asked, { ...about, state: 'refused/PatchFailed', message: 'patch 3 failed' })[0]?.remedy,
    ).toMatch(/^correct sync\.toHost\.endpoints\.patches\[3\] in \/home\/me\/v\.yaml, /);
    for (const state of [
      'inSync',
      'pending',
      'left/Standby',
      'ineligible/NoService',
      'waiting/HostDeleting',
      'exported',
    ])
      expect(objectRemedies(asked, { ...about, state })).toEqual([]);
  });

  it('says who fights for a copy, how to stop it, and how to see it', () => {
    const [item] = attentionOf(rowStatus({ trouble: [], contested: [{ by: 'kubectl-edit', sinceSeconds: 3 }] }));
    expect(item).toMatchObject({
      remedy:
        'stop what writes the copy as "kubectl-edit", or leave the copy to it with the annotation vcluster.loft.sh/controlled-by on the copy; this shows each change with its writer',
      command:
        'kubectl --kubeconfig /home/me/host --namespace vcluster-shop get endpoints api-x-shop-x-vc --watch --output yaml --show-managed-fields',
    });
  });

  it('reaches the virtual cluster of a daemon in a pod by the command of vCluster', () => {
    const startedAs = { program: 'kubectl exec x --', options: [], restart: 'r', addressBeside: '127.0.0.1:9440' };
    const trouble = [{ state: 'refused/AddressRefused', message: 'denied' }];
    const status = { ...rowStatus({ trouble }), startedAs, virtualCluster: 'vc', hostNamespace: 'vcluster-shop' };
    expect(attentionOf(status)[0]?.command).toBe(
      'vcluster connect vc --namespace vcluster-shop -- kubectl --namespace shop edit endpoints api',
    );
  });

  it('says nothing of objects on a standby, which knows only what was true when it led', () => {
    const standby = { state: 'standby', isWell: true, sentence: 'standby: hostward-1 does the writing' };
    const { outages: _, waitingFor: __, ...calm } = failing;
    const said = attentionOf({ ...calm, verdict: standby }).filter(({ object }) => object !== undefined);
    expect(said).toEqual([]);
  });

  it('has something whenever the verdict is not well', () => {
    const text = 'nothing is written: the lease cannot be read or renewed: Unauthorized';
    const verdict = { state: 'leaderless', isWell: false, sentence: text, parts: [{ part: text }] };
    expect(attentionOf({ verdict })).toMatchObject([
      { reason: 'leaderless', message: text, command: expect.stringContaining('doctor') },
    ]);
    expect(attentionOf({ verdict: { ...verdict, state: 'starting' } })).toEqual([]);
    const standby = { verdict: { state: 'standby', isWell: true, sentence: 'standby: hostward-1 does the writing' } };
    const { text: page } = statusMain(standby, [], { asOf: new Date(0) });
    expect(page).toContain('This replica is a standby: the page of the leader knows what needs a person');
    expect(page).not.toContain('Nothing needs a person');
  });

  it('quotes names for the shell, so that a copied command runs nothing of a name', () => {
    const commands = attentionOf(failing).map(({ command }) => command);
    expect(commands).toContain("npx hostward status 'shop/<script>alert(3)</script>'");
    for (const command of commands) expect(command.replace(/'[^']*'/g, '')).not.toMatch(/[<$(]/);
  });

  it('gives each command what the daemon was started with, and the usual file to a daemon that does not tell', () => {
    const files = "--config '/etc/<b>hostward</b>/v.yaml' --config /home/me/hostward.yaml";
    const host = "'/home/me/host $(id).kubeconfig'";
    const clusters = `--vcluster-name shop --virtual-kubeconfig /home/me/virtual.kubeconfig --host-kubeconfig ${host}`;
    const commandOf = (status: StatusJson, reason: string) =>
      attentionOf(status).find((one) => one.reason === reason)?.command;
    expect(commandOf(failing, 'unreachable')).toBe(`npx hostward doctor ${files} ${clusters}`);
    expect(commandOf(failing, 'MissingVerbs')).toBe(`npx hostward doctor ${files} ${clusters}`);
    expect(commandOf(failing, 'ConfigurationNotTakenOver')).toBe(`npx hostward check ${files} ${clusters}`);
    expect(commandOf(failing, 'EndingSoon')).toBe(`npx hostward keys extend 'ends-first-<b>' --ttl 90d ${files}`);
    const taken = { ...failing, newConfigurationIsInvalid: [] };
    expect(commandOf(taken, 'RestartNeeded')).toBe('npx hostward run --config /home/me/hostward.yaml --dry-run');
    // It could not start with that file.
    expect(commandOf(failing, 'RestartNeeded')).toBe(`npx hostward check ${files} ${clusters}`);
    const ownerless = { ...failing, trouble: [{ object: 'a/b', state: 'waiting/OwnerMissing', message: 'm' }] };
    expect(commandOf({ ...ownerless, virtualCluster: 'shop' }, 'OwnerMissing')).toBe(
      `kubectl --kubeconfig ${host} --namespace vcluster-shop get service shop`,
    );
    const { startedAs: _, ...silent } = failing;
    expect(commandOf(silent, 'unreachable')).toBe('hostward doctor --config vcluster.yaml');
  });

  it('asks the daemon that the reader has asked, also on another port', () => {
    const commands = attentionOf(failing, '[::1]:34181').map(({ command }) => command);
    const asks = (one: string) => one.startsWith('npx hostward status ');
    expect(commands).toContain("npx hostward status shop/web --address '[::1]:34181'");
    expect(commands.filter((one) => asks(one) !== one.includes('--address'))).toEqual([]);
    expect(attentionOf(failing, 'localhost:9440')).toEqual(attentionOf(failing));
    expect(shortText({ ...failing, verdict: {} }, undefined, '127.0.0.1:34181')).toContain(
      'npx hostward status --all --address 127.0.0.1:34181 tells the rest',
    );
    const page = statusMain(failing, [], { asOf: new Date(0), address: '127.0.0.1:34181' }).text;
    expect(page).toContain('<code>npx hostward status shop/web --address 127.0.0.1:34181</code>');
  });

  it('enters the pod of a daemon that runs in one, where the tunnel of the reader leads nowhere', () => {
    const program = 'kubectl -n vcluster-shop exec shop-0 -c hostward -- node /opt/hostward/src/launcher/hostward.mjs';
    const startedAs = { program, options: [], restart: 'kubectl -n vcluster-shop delete pod shop-0' };
    const commandsAt = (addressBeside: string) =>
      attentionOf({ ...failing, startedAs: { ...startedAs, addressBeside } }, 'localhost:8080').map(
        ({ command }) => command,
      );
    expect(commandsAt('127.0.0.1:9440')).toContain(`${program} status shop/web`);
    expect(commandsAt('127.0.0.1:9500')).toContain(`${program} status shop/web --address 127.0.0.1:9500`);
  });

  it('has the changes that wait, until an outage says why', () => {
    const parts = [
      { part: 'behind: 1 object waits, the oldest change is 9 s old', since: '2026-01-01T00:00:09Z' },
      { part: '3 objects cannot reach the host', since: '2026-01-01T00:00:00Z' },
    ];
    const verdict = { state: 'behind', isWell: false, sentence: parts.map(({ part }) => part).join('; '), parts };
    const reasonsIn = (status: StatusJson) => attentionOf({ ...status, verdict }).map(({ reason }) => reason);
    const { outages: _, waitingFor: __, addresses: ___, trouble, ...calm } = failing;
    const tried = (trouble as StatusJson[]).filter(({ state }) => state === 'retry');
    const reasons = attentionOf({ ...calm, trouble: tried, verdict }).map(({ reason }) => reason);
    expect([reasons.includes('retry'), reasons.includes('Behind')]).toEqual([true, false]);
    expect(attentionOf({ ...calm, verdict })[0]).toMatchObject({
      reason: 'Behind',
      message: '1 object waits, the oldest change is 9 s old',
      command: expect.stringMatching(/^npx hostward doctor /),
    });
    expect(reasonsIn(failing)).not.toContain('Behind');
  });

  it('names a contested object once, with the client, while its next repair waits', () => {
    const message = 'another client on the host keeps changing the copy';
    const waiting = { object: 'shop/fight', state: 'waiting/Contested', message, sinceSeconds: 1 };
    const messagesIn = (status: StatusJson) =>
      attentionOf(status)
        .filter(({ object }) => object === 'shop/fight')
        .map((one) => one.message);
    expect(messagesIn({ ...failing, trouble: [waiting] })).toEqual([
      'the host copy keeps being changed by "kubectl-edit & co"',
    ]);
    expect(messagesIn({ ...failing, trouble: [waiting], contested: [] })).toEqual([message]);
  });

  it('counts a thousand objects of one reason as one group, so that every other reason is seen', () => {
    const refused = Array.from({ length: 500 }, (_, at) => ({
      object: `shop/a-${at}`,
      state: 'refused/AddressRefused',
      message: 'the address 10.9.0.1 is denied',
    }));
    const fault = { object: 'shop/z', state: 'refused/PatchFailed', message: 'patch 0 threw' };
    const status = {
      verdict: {},
      trouble: [...refused, fault],
      troubleByState: { 'refused/AddressRefused': 1740, 'refused/PatchFailed': 1 },
      management: { keys: {}, expiringWithinSevenDays: 1 },
    };
    expect(attentionIn(status).groups.map(({ reason, count }) => `${count} ${reason}`)).toEqual([
      '1740 AddressRefused',
      '1 PatchFailed',
      '1 EndingSoon',
    ]);
    const page = statusMain(status, [], { asOf: new Date(0) }).text;
    expect(page).toContain('>1742 things need a person<');
    expect(page).toContain('<code>hostward status --state refused/AddressRefused</code>');
    const open = textOf(page.replace(/<details[\s\S]*?<\/details>/g, ''));
    for (const text of ['1740 objects', 'shop/a-1', 'PatchFailed', 'EndingSoon']) expect(open).toContain(text);
    const short = shortText(status, 80);
    for (const text of [
      '! 1740 objects (AddressRefused), such as shop/a-0: ',
      '! shop/z (PatchFailed): ',
      'EndingSoon',
    ])
      expect(short).toContain(text);
  });

  it('names the host namespace that is being deleted, and does not ask for the Service of the virtual cluster', () => {
    const message = 'the host namespace "shop-of-vc" is being deleted';
    const [row] = attentionOf({ trouble: [{ object: 'a/b', state: 'waiting/OwnerMissing', message }] });
    expect(row).toMatchObject({
      remedy: expect.stringMatching(/^create the namespace again when it is gone/),
      command: expect.stringMatching(/ get namespace shop-of-vc --output yaml$/),
    });
    // The objects wait for the Service, which the end of the namespace took; only the daemon knows that the namespace goes.
    const service = 'Service "vc" does not exist in host namespace "vcluster-vc"';
    const sentence = `blocked: OwnerMissing: ${service}; host namespace "vcluster-vc" is being deleted, so no copy can be made in it`;
    const [second] = attentionOf({
      verdict: { sentence },
      trouble: [{ object: 'a/b', state: 'waiting/OwnerMissing', message: service }],
    }).filter(({ reason }) => reason === 'OwnerMissing');
    expect(second?.command).toMatch(/ get namespace vcluster-vc --output yaml$/);
  });

  it('names the right that a write lacks, and the keys that end', () => {
    const message =
      'endpointslices.discovery.k8s.io "a" is forbidden: User "u" cannot create resource "endpointslices" in API group "discovery.k8s.io" in the namespace "vcluster-shop"';
    const remedyOf = (status: StatusJson) => attentionOf(status)[0]?.remedy;
    const outage = (message: string) => ({ outages: [{ cluster: 'host', kind: 'unwritable', seconds: 9, message }] });
    const right = 'grant "create" of endpointslices.discovery.k8s.io in the namespace vcluster-shop; ';
    expect(remedyOf(outage(message))).toContain(right);
    expect(remedyOf({ trouble: [{ object: 'a/b', state: 'refused/Forbidden', message }] })).toContain(right);
    expect(remedyOf(outage('endpoints "a" is forbidden'))).toMatch(/^grant the verbs that doctor names; /);
    expect(remedyOf(outage('connection refused'))).toBe('see whether the API server answers, and to whom');
    expect(attentionOf(outage(message))[0]?.command).toBe(
      'hostward doctor --config vcluster.yaml --rights host | kubectl auth reconcile -f -',
    );
  });

  it('grants what is missing by a command, on the side where it is missing, from inside a pod too', () => {
    const commandsOf = (status: StatusJson) => [...new Set(attentionOf(status).map(({ command }) => command))];
    const program = (rightless['startedAs'] as { program: string }).program;
    const doctorThere = `${program} doctor --config /etc/hostward/vcluster.yaml`;
    expect(commandsOf(rightless)).toEqual(
      expect.arrayContaining([
        `${doctorThere} --rights host | kubectl auth reconcile -f -`,
        `${doctorThere} --rights virtual | vcluster connect shop --namespace vcluster-shop -- kubectl auth reconcile -f -`,
      ]),
    );
    const window = { window: 'virtual secrets', message: 'secrets is forbidden', seconds: 9 };
    expect(commandsOf({ missingRights: [{ ...window, cluster: 'virtual' }] })).toEqual([
      'hostward doctor --config vcluster.yaml --rights virtual | kubectl auth reconcile -f -',
    ]);
    const text =
      'nothing is written: the lease cannot be read or renewed: leases.coordination.k8s.io "a" is forbidden: User "u" cannot update resource "leases" in API group "coordination.k8s.io" in the namespace "n"';
    const verdict = { state: 'leaderless', isWell: false, sentence: text, parts: [{ part: text }] };
    expect(commandsOf({ verdict })).toEqual([
      'hostward doctor --config vcluster.yaml --rights host | kubectl auth reconcile -f -',
    ]);
  });

  it('names each key that ends soon, with the command that lets it go on', () => {
    const nextKeysToEnd = [
      { key: 'ci-deploy', endsAt: '2026-01-02T00:00:00Z' },
      { key: "a'; rm", endsAt: '2026-01-03T00:00:00Z' },
    ];
    const [group] = attentionIn({ management: { expiringWithinSevenDays: 12, nextKeysToEnd } }).groups;
    expect(group).toMatchObject({ reason: 'EndingSoon', count: 12 });
    expect(group?.items).toMatchObject([
      {
        about: 'access key ci-deploy',
        message: 'ends at 2026-01-02T00:00:00Z',
        command: 'hostward keys extend ci-deploy --ttl 90d --config vcluster.yaml',
      },
      { command: String.raw`hostward keys extend 'a'\''; rm' --ttl 90d --config vcluster.yaml` },
    ]);
    const old = { management: { expiringWithinSevenDays: 1, nextKeysToEnd: ['ci-deploy'] } };
    expect(attentionOf(old)[0]?.command).toContain('keys extend ci-deploy --ttl 90d');
  });

  it('is nothing in a daemon that is well', () => {
    expect(attentionOf(cases.find(([name]) => name === 'well')?.[1] as StatusJson)).toEqual([]);
  });
});
