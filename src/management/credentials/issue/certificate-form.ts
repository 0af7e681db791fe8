// Makes the kubeconfig with a client certificate for a virtual cluster that serves itself. Kubernetes cannot revoke a certificate.
// So each certificate has a group of its own, the rights are bound to that group, and the binding is deleted when the access key
// ends. In: the request. Out: the kubeconfig. The store records each object before it is made, so that a crash leaves nothing
// behind.

import { randomBytes } from 'node:crypto';
import { forbiddenBecause, StatusFault } from '../../../apiserver/request/status-fault.ts';
import { type SignedClient, signClient } from '../../../apiserver/tls/client-certificates.ts';
import { readNamedFile } from '../../../cluster/credentials/secret-file.ts';
import { forbidden } from '../../../object/meta/status.ts';
import type { KeyWorld } from '../../keys/life/credential.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import { noRoom } from '../certificates/certificate-room.ts';
import type { ClientAuthority } from '../certificates/client-authority.ts';
import type { IssueBook } from '../certificates/issue-book.ts';
import { endOf, type IssueRecord } from '../certificates/issue-record.ts';
import { certificateLife, daySeconds, yearSeconds } from '../kubeconfig/life.ts';
import { instanceText, issueGroup, upstreamUser } from '../kubeconfig/names.ts';
import { certificatesIn } from '../kubeconfig/pem.ts';
import { type Form, type FormInput, instanceGroupResource, type MakeForm, missing, unacceptable } from './asked.ts';
import { type IssueParts, leftSeconds } from './asker.ts';
import { ingressPlace } from './ingress-place.ts';
import type { Revoker } from './revoker.ts';
import { signByCluster } from './sign-by-cluster.ts';
import { notReady, upstreamFault } from './upstream-fault.ts';
import { type ReachOptions, type VirtualCluster, withVirtualCluster } from './virtual-cluster.ts';

export interface CertificateParts {
  book: IssueBook;
  revoker: Revoker;
  /** Signs for the ingress listener. */
  authority: ClientAuthority;
  world: KeyWorld;
  reach: ReachOptions;
}

const idBytes = 16;

export function certificateForm(own: CertificateParts): MakeForm {
  return async (parts, asked) => {
    const facts = keyOf(asked);
    const seconds = lifeOf(parts, asked);
    const isHosted = asked.instance.settings.ingress?.servedBy === 'hostward';
    const place = await (isHosted ? ingressPlace(parts, asked) : clusterPlace(asked));
    requireRoom(parts, own.book, asked, facts);
    if (isHosted) return hostedForm(own, parts, { asked, facts, seconds, place });
    const { kubeconfig } = asked.instance.settings;
    if (kubeconfig === undefined)
      throw missing(
        asked,
        `no kubeconfig is configured for the virtual cluster ${instanceText(asked.instance)}, which the rights of a certificate need`,
      );
    if (asked.ctx.dryRun) return { ...place, user: undefined, expiresMs: undefined, made: '' };
    const record = newRecord(parts, asked, facts, { by: 'binding', kubeconfig });
    await own.book.put(record);
    try {
      const signed = await issue(own, asked, record, seconds);
      for (const warning of warningsOf(parts, asked, signed)) asked.ctx.warn(warning);
      const { certificatePem, keyPem, serial, notAfterMs } = signed;
      const made = tell(asked, record, serial);
      return { ...place, user: { certificatePem, keyPem }, expiresMs: notAfterMs, made };
    } catch (error) {
      own.revoker.end(record);
      throw error;
    }
  };
}

type CertifiedServer = Pick<Form, 'server' | 'authorityPem'>;

/** Where Hostward serves the virtual cluster, it signs with its own CA and checks each request, so no binding must be removed. */
async function hostedForm(
  { book, revoker, authority, reach }: CertificateParts,
  parts: IssueParts,
  of: { asked: FormInput; facts: KeyFacts; seconds: number | undefined; place: CertifiedServer },
): Promise<Form> {
  const { asked, facts, seconds = yearSeconds, place } = of;
  if (asked.ctx.dryRun) return { ...place, user: undefined, expiresMs: undefined, made: '' };
  const record = newRecord(parts, asked, facts, { by: 'listener', kubeconfig: '' });
  // Before the signing: requests at the same time must not share the last place.
  await book.put(record);
  try {
    const identity = { user: upstreamUser(record.subject), group: issueGroup(record.id) };
    const signed = await signClient(await authority.get(), identity, { now: reach.clock.wallTime(), seconds });
    const { certificatePem, keyPem, serial, notAfterMs } = signed;
    await book.put({ ...record, state: 'live', serial, notAfterMs });
    if (seconds > daySeconds)
      asked.ctx.warn(`the client certificate is valid until ${new Date(notAfterMs).toISOString()}`);
    const made = tell(asked, record, serial);
    return { ...place, user: { certificatePem, keyPem }, expiresMs: notAfterMs, made };
  } catch (error) {
    revoker.end(record);
    throw error;
  }
}

/** For the audit log: what was made, as an object and in words. It allows what the scope of a kubeconfig's key would. */
function tell({ ctx }: FormInput, { id, subject, project, virtualCluster }: IssueRecord, serial: string): string {
  const scope = { virtualClusters: [{ project, virtualCluster }] };
  const text = JSON.stringify({ metadata: { name: serial, uid: id }, spec: { [subject.kind]: subject.name, scope } });
  ctx.wrote?.({ kind: 'ClientCertificate', text });
  return `issued the client certificate ${serial} of ${issueGroup(id)}`;
}

/** The certificate ends with the calling key, so a caller without a key is refused. */
function keyOf({ asker, ctx }: FormInput): KeyFacts {
  if (asker.facts !== undefined) return asker.facts;
  const why = 'a client certificate ends with the access key that asks for it; ask with a key, through --server';
  throw new StatusFault(forbidden(instanceGroupResource, ctx.name, why));
}

function lifeOf(parts: IssueParts, asked: FormInput): number | undefined {
  const { spec, asker, instance, ctx } = asked;
  const left = leftSeconds(asker, parts.clock.wallTime().getTime());
  const life = certificateLife(spec.certificateTTL, {
    leftSeconds: left,
    maxSeconds: instance.settings.clientCert.maxTTL,
  });
  if (life.errors.length > 0) throw unacceptable(asked, life.errors);
  for (const warning of life.warnings) ctx.warn(warning);
  return life.seconds;
}

async function clusterPlace(asked: FormInput): Promise<Pick<Form, 'server' | 'authorityPem'>> {
  const { ingress } = asked.instance.settings;
  const file = ingress?.certificateAuthority;
  if (ingress === undefined || file === undefined)
    throw missing(
      asked,
      `ingress.certificateAuthority of the virtual cluster ${instanceText(asked.instance)} is not configured, and a kubeconfig is never without it`,
    );
  const authorityPem = await readNamedFile(file).catch(() => '');
  if (certificatesIn(authorityPem).length === 0)
    throw notReady(
      `the CA of the virtual cluster ${instanceText(asked.instance)} cannot be read; ask the operator of Hostward`,
    );
  return { server: ingress.server, authorityPem };
}

function requireRoom(parts: IssueParts, book: IssueBook, { instance }: FormInput, { name, record }: KeyFacts): void {
  const asked = { key: keyIn({ name, record }), subject: record.subject, instance: instance.uid };
  const why = noRoom(book.all(), asked, parts.limits().perOwner);
  if (why !== undefined) throw forbiddenBecause(instanceGroupResource, instance.name, why, []);
}

function keyIn({ name, record }: Pick<KeyFacts, 'name' | 'record'>): IssueRecord['key'] {
  return { name, uid: record.uid, generation: record.tokenGeneration };
}

function newRecord(
  parts: IssueParts,
  { instance }: FormInput,
  facts: KeyFacts,
  undo: Pick<IssueRecord, 'by' | 'kubeconfig'>,
): IssueRecord {
  const { record } = facts;
  return {
    id: randomBytes(idBytes).toString('hex'),
    state: 'beginning',
    project: instance.project,
    virtualCluster: instance.name,
    instance: instance.uid,
    ...undo,
    key: keyIn(facts),
    subject: { kind: record.subject.kind, name: record.subject.name },
    serial: '',
    createdMs: parts.clock.wallTime().getTime(),
    notAfterMs: undefined,
  };
}

async function issue(
  own: CertificateParts,
  asked: FormInput,
  record: IssueRecord,
  seconds: number | undefined,
): Promise<SignedClient> {
  const { book, world, reach } = own;
  const { instance } = asked;
  const made = await withVirtualCluster(record.kubeconfig, reach, async (cluster) => {
    const signed = await sign(cluster, own, asked, record, seconds);
    const { serial, notAfterMs } = signed;
    const live: IssueRecord = { ...record, state: 'live', serial, notAfterMs };
    await book.put(live);
    const { clusterRole } = instance.settings.clientCert;
    const bound = await cluster.createBinding({
      id: record.id,
      issuer: book.issuer,
      key: record.key.name,
      clusterRole,
    });
    if (bound.kind !== 'ok')
      throw upstreamFault(bound, {
        instance,
        step: `bind a group to the ClusterRole ${clusterRole}`,
        isCreate: true,
        log: reach.log,
      });
    // If the key ended in the meantime, the revoker may have looked before the binding existed.
    const over = endOf(live, world, reach.clock.wallTime().getTime());
    if (over !== undefined) throw new StatusFault(forbidden(instanceGroupResource, instance.name, over));
    return signed;
  });
  if (made.kind === 'done') return made.value;
  const virtualCluster = instanceText(instance);
  const { faults } = made;
  reach.log.error(
    { component: 'management', virtualCluster, faults },
    'kubeconfig of a virtual cluster cannot be used',
  );
  throw notReady(
    `the kubeconfig of the virtual cluster ${virtualCluster} cannot be used; the log of Hostward says why`,
  );
}

async function sign(
  cluster: VirtualCluster,
  { reach }: CertificateParts,
  { instance }: FormInput,
  record: IssueRecord,
  seconds: number | undefined,
): Promise<SignedClient> {
  const { clock, log } = reach;
  const identity = { user: upstreamUser(record.subject), group: issueGroup(record.id) };
  const { signing } = instance.settings;
  if (signing === undefined) return signByCluster(cluster, identity, seconds, { id: record.id, instance, clock, log });
  try {
    const [certPem, keyPem] = await Promise.all([readNamedFile(signing.certificate), readNamedFile(signing.key)]);
    return await signClient({ certPem, keyPem }, identity, { now: clock.wallTime(), seconds: seconds ?? yearSeconds });
  } catch (error) {
    log.error({ component: 'management', instance: instanceText(instance), error: String(error) }, 'CA cannot sign');
    throw notReady(
      `the CA that signs for the virtual cluster ${instanceText(instance)} cannot be used; the log of Hostward says why`,
    );
  }
}

function warningsOf({ clock }: IssueParts, { instance }: FormInput, { notAfterMs }: SignedClient): string[] {
  const leftSeconds = (notAfterMs - clock.wallTime().getTime()) / 1000;
  const until = new Date(notAfterMs).toISOString();
  const long = leftSeconds > daySeconds ? [`the client certificate is valid until ${until}`] : [];
  return [
    ...long,
    `new requests with this certificate end within 2 seconds after the access key does; watches and sessions that are open in ${instanceText(instance)} then go on until they end themselves`,
  ];
}
