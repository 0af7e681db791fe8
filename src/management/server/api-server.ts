// Makes the API server of the management API from its parts: which kinds it serves, who calls, what else it answers, and
// its certificate: the configured files, or one of its own authority for the names that it is reached by.
import type { IncomingMessage } from 'node:http';
import type { ServedRequest } from '../../apiserver/chain/served-request.ts';
import type { Kind } from '../../apiserver/kinds/kind.ts';
import type { ObjectLimits } from '../../apiserver/kinds/object-limits.ts';
import type { CallerLimits, Holder } from '../../apiserver/limits/caller-limits.ts';
import { type LoopShares, LoopTime } from '../../apiserver/limits/loop-time.ts';
import type { UnprovenConnections } from '../../apiserver/limits/unproven-connections.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Target } from '../../apiserver/request/target.ts';
import { ApiServer } from '../../apiserver/server.ts';
import type { CallerHooks } from '../../apiserver/server-options.ts';
import { authorityIn } from '../../apiserver/tls/authority-folder.ts';
import type { CertificatePaths, ServingPair } from '../../apiserver/tls/certificate-files.ts';
import { makeServingCertificate } from '../../apiserver/tls/certificates.ts';
import { UnreadAnswers } from '../../apiserver/wire/unread-answers.ts';
import type { Clock } from '../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../config/settings/management-settings.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { serviceUnavailable, soonSeconds } from '../../object/meta/status.ts';
import type { BackupTaken } from '../audit/recovery/take-backup.ts';
import { looksLikeToken } from '../credentials/claims/verify-token.ts';
import type { Kubeconfigs } from '../credentials/issue/kubeconfigs.ts';
import { deadText, isOpen } from '../keys/callers/callers.ts';
import { configuredKindsWith } from '../keys/callers/configured-kinds.ts';
import { keyQuestions } from '../keys/key-questions.ts';
import { ownerRules } from '../keys/owner-rules.ts';
import { serverAnnotations } from '../keys/rules/server-marks.ts';
import type { ManagementProxy } from '../proxy/proxy.ts';
import { reviewProtobuf } from '../proxy/reviews.ts';
import { classifier, creditedTo, maxHeaderBytes, proxiedAdmission, proxiedSender } from '../proxy/sender.ts';
import { type OpenParts, selfReviews } from './open-parts.ts';
import { otherPaths, versionOf } from './other-paths.ts';
import { reportKind } from './report-kind.ts';
import { managementSchemas } from './schemas.ts';

const pathPrefix = '/kubernetes/management';
/**
 * A key with every field filled in by hand has about 3 KiB, and the longest scope that is accepted fits too; thousands of keys
 * are in memory. A body may be twice as large, for managedFields and white space. Labels and annotations: more than any tool
 * writes; finalizers, owners and managers: each is looked at, or looked up, with every write.
 */
export const managementLimits: ObjectLimits = {
  bodyBytes: 64 * 1024,
  storedBytes: 32 * 1024,
  counts: { labels: 64, annotations: 64, finalizers: 32, ownerReferences: 32, managedFields: 32 },
  ownAnnotations: serverAnnotations,
};

export interface ApiServerParts {
  kubeconfigs: Kubeconfigs;
  proxy: ManagementProxy;
  unproven: UnprovenConnections;
  limits: CallerLimits;
  loopShares: LoopShares | undefined;
  /** For whom a command of this machine asks, which needs no key; undefined = the request came another way. */
  osUserOf(request: IncomingMessage): string | undefined;
  isReady(): boolean;
  /** Why no change can be stored. */
  writeTrouble(): string | undefined;
  /** Why nothing that is known here may be believed: then nobody is let in, and nobody is refused for good. */
  storeTrouble(): string | undefined;
  backUp(folder: string, withSecrets: boolean): Promise<BackupTaken>;
  at: { host: string; port: number; tls: ServedCertificate['tls'] };
  clock: Clock;
  log: Log;
  version: string;
  metrics: Metrics | undefined;
}

export function apiServerOf(parts: OpenParts, how: ApiServerParts): ApiServer {
  const { callers, rights, store, key, audit, failedLogins, issuing } = parts;
  const { clock, log, version, metrics, unproven, isReady, writeTrouble, backUp } = how;
  const kinds: Kind[] = [
    key,
    ...issuing.kinds,
    reportKind({ ...reportParts(parts), clock }),
    ...configuredKindsWith(how.kubeconfigs.subresource, parts.visibleSince),
    ...selfReviews(parts),
  ];
  const { proxy } = how;
  return new ApiServer({
    serves: {
      kinds,
      schemas: managementSchemas,
      protobuf: reviewProtobuf,
      dialect: 'strict',
      limits: managementLimits,
      version: versionOf(version),
    },
    store,
    clock,
    log,
    access: {
      authenticate: async (exchange) => {
        refuseWhile(how.storeTrouble(), exchange);
        const osUser = how.osUserOf(exchange.request);
        return osUser === undefined ? authenticated(exchange, parts, how) : callers.programFor(osUser);
      },
      authorize: (asked) => (proxy.route.takes(asked.target) ? proxy.route.authorize(asked) : rights.authorize(asked)),
      admission: [ownerRules(() => kinds, rights)],
      pageSeal: parts.pageSeal,
    },
    callers: { ...callerRules(parts, how, kinds), failedLogin: failedLogins.failed, unproven },
    listen: { ...how.at, maxHeaderBytes },
    pathPrefix,
    classify: classifier((request) => how.osUserOf(request) !== undefined),
    routes: [
      proxy.route,
      issuing.route,
      keyQuestions({ ...questionParts(parts), backUp, clock }),
      ...otherPaths({ metrics, version: versionOf(version), isReady, writeTrouble }),
    ],
    takesUpgrades: proxy.route.takesUrl,
    audit,
    readyTrouble: writeTrouble,
  });
}

/** What one key, one owner and all may hold open here, and use of the loop. */
function callerRules(
  { callers }: OpenParts,
  { clock, log, limits, metrics, loopShares, proxy, unproven }: ApiServerParts,
  kinds: readonly Kind[],
): Pick<CallerHooks, 'admit' | 'works' | 'ended'> {
  const loopTime = new LoopTime(clock, loopShares, { newcomers: () => unproven.count });
  if (metrics !== undefined) loopTime.declareMetrics(metrics);
  const unread = new UnreadAnswers({ clock, log });
  const admitProxied = proxiedAdmission(limits, unread, loopTime);
  const holderOf = (user: User): Holder => {
    const session = callers.sessionOf(user);
    return session === undefined ? nobody : creditedTo(session.credential);
  };
  return {
    admit: async (exchange) => {
      const { sender, target } = exchange;
      const of = holderOf(sender);
      if (proxy.route.takes(target)) return admitProxied(of, exchange);
      const { response } = exchange;
      unread.opened(response, of.owner);
      // Probes have no key, and commands of this machine are few.
      if (of.key === '') return;
      await loopTime.enters(of, () => {
        limits.admit(target.verb === 'watch' ? 'watches' : 'requests', of, response);
        limits.admitBody(of, response, bodyBytesOf(kinds, target, sender));
      });
    },
    works: (user, begun) => {
      const of = holderOf(user);
      if (of.key !== '') return loopTime.turn(of, begun);
      loopTime.begins(of, begun);
      return undefined;
    },
    ended: (user) => callers.endOf(user),
  };
}

/** Whose probe it is. */
const nobody: Holder = { key: '', owner: '' };

/** Probes go on: they say the same in their way. */
function refuseWhile(trouble: string | undefined, { request, target }: ServedRequest): void {
  if (trouble === undefined || (request.headers.authorization === undefined && isOpen(target))) return;
  throw new StatusFault(
    serviceUnavailable('the store of the keys is out of reach, so that no key can be judged', soonSeconds),
  );
}

async function authenticated(
  exchange: ServedRequest,
  { callers, issuing, failedLogins }: OpenParts,
  { unproven, limits, proxy }: Pick<ApiServerParts, 'unproven' | 'limits' | 'proxy'>,
): Promise<User | undefined> {
  const authenticate = async (text: string, address: string | undefined) =>
    looksLikeToken(text) ? issuing.callers.authenticateAnywhere(text, address) : callers.authenticateKey(text, address);
  const user = proxy.route.takes(exchange.target)
    ? await proxiedSender(exchange, { authenticate, failedLogin: failedLogins.failed })
    : await callers.authenticate(exchange);
  const session = user === undefined ? undefined : callers.sessionOf(user);
  // A probe has a user too, and has shown nothing.
  if (session === undefined) return user;
  const { socket } = exchange.request;
  // A connection beyond the limit stays an unauthenticated one, and gives way like one.
  limits.connects(socket, creditedTo(session.credential));
  unproven.proved(socket);
  return user;
}

function bodyBytesOf(kinds: readonly Kind[], { group, resource }: Target, sender: User): number {
  const kind = kinds.find((one) => one.group === group && one.plural === resource);
  return kind?.bodyBytes?.(sender) ?? managementLimits.bodyBytes;
}

function reportParts({ issuing, world, audit, activity, callers, rights }: OpenParts) {
  return {
    ...{ ledger: issuing.ledger, world },
    mayReport: rights.mayReport.bind(rights),
    isAgent: rights.isAgent.bind(rights),
    append: audit.take.bind(audit),
    used: activity.used.bind(activity),
    keyNameOf: (user: User) => callers.sessionOf(user)?.credential.keyName ?? '',
  };
}

function questionParts({ world, book, callers, people }: OpenParts) {
  return {
    world,
    deadText,
    facts: () => book.facts(),
    isAdministrator: (user: User) => callers.isAdministrator(user),
    callerOf: callers.callerOf.bind(callers),
    isHere: (user: User) => callers.sessionOf(user)?.credential.keyName === '',
    record: people.record.bind(people),
    reattach: people.reattach.bind(people),
  };
}

export interface ServedCertificate {
  tls: ServingPair | { files: CertificatePaths };
  /** Of the CA that Hostward made itself; empty when the certificate comes from files. */
  caPem: string;
}

export async function servingCertificate(
  host: string,
  server: ManagementServerSettings,
  now: Date,
): Promise<ServedCertificate> {
  const { tls: files, baseURL } = server;
  if (files !== undefined) return { tls: { files }, caPem: '' };
  const authority = await authorityIn(secretsFolder(server), 'hostward-management', now);
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const names = new Set(['localhost', '127.0.0.1', new URL(baseURL).hostname.replace(/^\[|\]$/g, '')]);
  if (!isEverywhere) names.add(host);
  const tls = await makeServingCertificate('hostward-management', [...names], now, authority);
  return { tls, caPem: authority.certPem };
}
