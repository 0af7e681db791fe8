// Collects the parts of the open management API that the forms of a kubeconfig need.

import type { Kind } from '../../../apiserver/kinds/kind.ts';
import type { Kit } from '../../../apiserver/kinds/kit.ts';
import type { User } from '../../../apiserver/request/identity.ts';
import type { Clock } from '../../../clock.ts';
import { readNamedFile } from '../../../cluster/credentials/secret-file.ts';
import type { ManagementServerSettings, ManagementSettings } from '../../../config/settings/management-settings.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { KeyWorld } from '../../keys/life/credential.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import type { Caller } from '../../keys/rules/judgement.ts';
import type { KubeconfigMark } from '../../keys/secret/key-record.ts';
import type { Credential } from '../../scope/allows.ts';
import type { Directory } from '../../scope/directory.ts';
import { authorityOf } from '../kubeconfig/pem.ts';
import type { IssueParts } from './asker.ts';
import { makeKey } from './make-key.ts';

interface CallerSession {
  credential: Credential;
  facts: KeyFacts | undefined;
  directory: Directory;
  address: string | undefined;
}

/** The part of the callers that is needed here. */
export interface IssueCallers {
  sessionOf(user: User): CallerSession | undefined;
  callerOf(session: CallerSession): Caller;
  forKubeconfig(user: User, mark: KubeconfigMark): User;
  forCertificate(of: { credential: Credential; facts: KeyFacts; endMs: number; address: string | undefined }): User;
}

export interface OpenIssueParts {
  callers: IssueCallers;
  world: KeyWorld;
  key: Kind;
  settings: () => ManagementSettings;
  /** The CA that Hostward made itself; empty when the certificate of the management server comes from files. */
  caPem: () => string;
  kit: () => Kit;
  clock: Clock;
  server: ManagementServerSettings;
}

export function issueParts(open: OpenIssueParts, ingressAuthority: () => Promise<string>): IssueParts {
  const { callers, world, key, settings, caPem, kit, clock, server } = open;
  const authority = async () => {
    const { tls } = server;
    return tls === undefined ? caPem() : authorityOf(await readNamedFile(tls.certificate));
  };
  return {
    asker(user) {
      const session = callers.sessionOf(user);
      return session === undefined ? undefined : { caller: callers.callerOf(session), facts: session.facts };
    },
    directory: () => world.directory,
    limits: () => settings().keys,
    instanceUid: (project, name) => world.instanceUid(project, name),
    allowedServers: () => settings().kubeconfigs.allowedServers,
    clock,
    baseURL: server.baseURL,
    authority,
    ingressAuthority,
    async makeKey(ctx, mark, submitted) {
      const of = { ...ctx, kit: kit(), kind: key, user: callers.forKubeconfig(ctx.user, mark) };
      const made = await makeKey(of, submitted);
      if (made === undefined) return undefined;
      const spec = isRecord(made['spec']) ? made['spec'] : {};
      return { name: made.metadata.name ?? '', value: String(spec['key']) };
    },
  };
}
