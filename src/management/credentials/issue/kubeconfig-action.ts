// Serves POST to `virtualclusterinstances/NAME/kubeconfig`: checks the body and the rights of the caller, has a credential made,
// and answers the text of a kubeconfig. In: the body and the caller. Out: the object with status.kubeConfig, or a Status with the
// reason.
import type { SubresourceAction } from '../../../apiserver/kinds/kind.ts';
import { badRequest, forbiddenBecause, StatusFault } from '../../../apiserver/request/status-fault.ts';
import { isServerURL } from '../../../config/settings/text-rules.ts';
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { notFound } from '../../../object/meta/status.ts';
import { isRecord } from '../../../object/text/json.ts';
import { timeText } from '../../keys/book/stored-key.ts';
import { allows } from '../../scope/allows.ts';
import { managementGroup, projectOfNamespace } from '../../scope/request.ts';
import { certificateRequest } from '../certificates/issue-record.ts';
import { tokenLife } from '../kubeconfig/life.ts';
import { entryName, instanceText, keyNamePrefix } from '../kubeconfig/names.ts';
import { kubeconfigText } from '../kubeconfig/text.ts';
import { kubeconfigKindName } from '../schema/kubeconfig-schema.ts';
import {
  type ActionContext,
  type Form,
  type FormInput,
  instanceGroupResource,
  type KubeconfigSpec,
  type MakeForm,
  noIngressFault,
  unacceptable,
} from './asked.ts';
import { type IssueParts, instanceNamed, leftSeconds, type MadeKey } from './asker.ts';
import { ingressPlace } from './ingress-place.ts';

/** In the answer: when the credential in the kubeconfig ends. */
const expiresAnnotation = 'hostward.dev/expires';

export function kubeconfigAction(parts: IssueParts, certificateForm: MakeForm): SubresourceAction {
  return async (body, ctx) => {
    const asked = askedIn(parts, body, ctx);
    if (asked.spec.clientCert) requireCertificateRight(parts, asked);
    const faults = serverFaults(asked.spec.server, parts.allowedServers());
    if (faults.length > 0) throw unacceptable(asked, faults);
    if (asked.instance.settings.ingress === undefined) throw noIngressFault(asked);
    const form = await (asked.spec.clientCert ? certificateForm : tokenForm)(parts, asked);
    return answerOf(body, asked, form);
  };
}

function askedIn(parts: IssueParts, body: KubeObject, ctx: ActionContext): FormInput {
  const asker = parts.asker(ctx.user);
  if (asker === undefined) throw badRequest('make a kubeconfig: want a caller with a key');
  const { name = '', namespace = '' } = body.metadata;
  if (namespace !== '' && namespace !== ctx.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  if (name !== '' && name !== ctx.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${ctx.name})`);
  const project = projectOfNamespace(ctx.namespace);
  const instance = project === undefined ? undefined : instanceNamed(parts, project, ctx.name);
  if (ctx.object === undefined || instance === undefined)
    throw new StatusFault(notFound(instanceGroupResource, ctx.name));
  return { spec: specIn(body), asker, instance, ctx };
}

function specIn(body: KubeObject): KubeconfigSpec {
  const { certificateTTL, server, clientCert } = isRecord(body['spec']) ? body['spec'] : {};
  return {
    certificateTTL: typeof certificateTTL === 'number' ? certificateTTL : undefined,
    server: typeof server === 'string' ? server : '',
    clientCert: clientCert === true,
  };
}

/** The authorizer sees only the path, but the wish for a certificate is in the body. */
function requireCertificateRight({ directory }: IssueParts, { asker, instance, ctx }: FormInput): void {
  const decision = allows(
    directory(),
    asker.caller.credential,
    certificateRequest({ project: instance.project, virtualCluster: instance.name }),
  );
  if (decision.allowed) return;
  const why = `no client certificate for this caller: ${decision.reason}`;
  const causes = [{ reason: 'FieldValueForbidden', message: why, field: 'spec.clientCert' }];
  throw forbiddenBecause(instanceGroupResource, ctx.name, why, causes);
}

async function answerOf(body: KubeObject, { spec, instance, ctx }: FormInput, form: Form): Promise<KubeObject> {
  const { name } = body.metadata;
  const answer = {
    kind: kubeconfigKindName,
    apiVersion: `${managementGroup}/v1`,
    metadata: { ...(name === undefined || name === '' ? {} : { name }), namespace: ctx.namespace },
    spec: body['spec'] ?? {},
  };
  if (form.user === undefined || form.expiresMs === undefined) return answer;
  const entry = serverEntry(form.server, spec.server);
  ctx.note(spec.server === '' ? form.made : `${form.made}; spec.server ${spec.server}`);
  const { authorityPem, user } = form;
  const text = await kubeconfigText({ name: entryName(instance), ...entry, authorityPem, user });
  // The text of a kubeconfig does not contain the end of a token, but the client must know when to ask again.
  const annotations = { [expiresAnnotation]: timeText(form.expiresMs) };
  return { ...answer, metadata: { ...answer.metadata, annotations }, status: { kubeConfig: text } };
}

// Makes the kubeconfig with a token: an access key for exactly this virtual cluster, used through our proxy or the ingress that we
// serve.
async function tokenForm(parts: IssueParts, asked: FormInput): Promise<Form> {
  const { spec, asker, instance, ctx } = asked;
  const left = leftSeconds(asker, parts.clock.wallTime().getTime());
  const life = tokenLife(spec.certificateTTL, { leftSeconds: left, maxSeconds: parts.limits().maxTTL });
  if (life.errors.length > 0) throw unacceptable(asked, life.errors);
  const place = await tokenPlace(parts, asked);
  for (const warning of life.warnings) ctx.warn(warning);
  const key = await made(parts, asked, {
    metadata: { generateName: keyNamePrefix(instance) },
    spec: {
      displayName: `kubeconfig of ${instanceText(instance)}`,
      type: 'Other',
      ttl: life.seconds,
      groups: asker.facts?.groups ?? [],
      scope: { virtualClusters: [{ project: instance.project, virtualCluster: instance.name }] },
    },
  });
  const user = key === undefined ? undefined : { token: key.value };
  const expiresMs = key === undefined ? undefined : parts.clock.wallTime().getTime() + (life.seconds ?? 0) * 1000;
  return { ...place, user, expiresMs, made: `made the access key ${key?.name ?? ''}` };
}

/** The address that accepts a key or token: the ingress that we serve, or our proxy. */
async function tokenPlace(parts: IssueParts, asked: FormInput): Promise<Pick<Form, 'server' | 'authorityPem'>> {
  const { project, name, settings } = asked.instance;
  if (settings.ingress?.servedBy === 'hostward') return ingressPlace(parts, asked);
  return {
    server: `${parts.baseURL}/kubernetes/project/${project}/virtualcluster/${name}`,
    authorityPem: await parts.authority(),
  };
}

async function made(parts: IssueParts, { instance, ctx }: FormInput, object: object): Promise<MadeKey | undefined> {
  const { project, name, uid } = instance;
  const mark = { project, virtualCluster: name, instance: uid };
  try {
    return await parts.makeKey(ctx, mark, object);
  } catch (error) {
    if (!(error instanceof StatusFault) || error.code !== 403) throw error;
    // The caller did not ask for a key, so the refusal must name the kubeconfig.
    const causes = error.status.details?.causes ?? [];
    const why = causes.map(({ field, message }) => `${field}: ${message}`).join('; ');
    throw forbiddenBecause(
      instanceGroupResource,
      name,
      `its access key cannot be made: ${why === '' ? error.message : why}`,
      causes,
    );
  }
}

// Checks spec.server of a kubeconfig, the address that replaces ours. Hostward never contacts this address. But other people may
// run kubectl with the kubeconfig, so the address must be plain, and kubectl still checks the certificate against the name that
// Hostward knows.

/** The longest address that browsers and proxies carry. */
const longestAddress = 2_048;
const path = 'spec.server';

/** `allowed`: host names that are allowed; empty = all. */
function serverFaults(server: string, allowed: readonly string[]): FieldError[] {
  if (server === '') return [];
  // The message does not repeat the address, because it may hold a password.
  if (server.length > longestAddress || !isServerURL(server))
    return [
      invalidValue(path, '…', 'must be an https address without user, query and fragment, like https://v1.example.com'),
    ];
  const host = hostOf(server);
  if (allowed.length === 0 || allowed.includes(host)) return [];
  return [invalidValue(path, host, `must be at one of the hosts ${allowed.join(', ')}`)];
}

interface ServerEntry {
  server: string;
  tlsServerName: string | undefined;
}

function serverEntry(known: string, override: string): ServerEntry {
  if (override === '') return { server: known, tlsServerName: undefined };
  const host = hostOf(known);
  return { server: override, tlsServerName: hostOf(override) === host ? undefined : host };
}

function hostOf(address: string): string {
  return new URL(address).hostname.replace(/^\[|\]$/g, '');
}
