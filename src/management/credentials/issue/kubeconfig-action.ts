// Serves POST to `virtualclusterinstances/NAME/kubeconfig`: checks the body and the rights of the caller, has a credential made,
// and answers the text of a kubeconfig. In: the body and the caller. Out: the object with status.kubeConfig, or a Status with the
// reason.
import type { SubresourceAction } from '../../../apiserver/kinds/kind.ts';
import { badRequest, forbiddenBecause, StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { notFound } from '../../../object/meta/status.ts';
import { isRecord } from '../../../object/text/json.ts';
import { allows } from '../../scope/allows.ts';
import { managementGroup, projectOfNamespace } from '../../scope/request.ts';
import { certificateRequest } from '../certificates/issue-record.ts';
import { entryName } from '../kubeconfig/names.ts';
import { serverEntry, serverFaults } from '../kubeconfig/server-override.ts';
import { kubeconfigText } from '../kubeconfig/text.ts';
import { kubeconfigKindName } from '../schema/kubeconfig-schema.ts';
import {
  type ActionContext,
  type Form,
  type FormInput,
  instanceGroupResource,
  type KubeconfigSpec,
  type MakeForm,
  unacceptable,
  withoutIngress,
} from './asked.ts';
import { type IssueParts, instanceNamed } from './asker.ts';
import { tokenForm } from './token-form.ts';

/** In the answer: when the credential in the kubeconfig ends. */
export const expiresAnnotation = 'hostward.dev/expires';

export function kubeconfigAction(parts: IssueParts, certificateForm: MakeForm): SubresourceAction {
  return async (body, ctx) => {
    const asked = askedIn(parts, body, ctx);
    if (asked.spec.clientCert) requireCertificateRight(parts, asked);
    const faults = serverFaults(asked.spec.server, parts.allowedServers());
    if (faults.length > 0) throw unacceptable(asked, faults);
    if (asked.instance.settings.ingress === undefined) throw withoutIngress(asked);
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
  const annotations = { [expiresAnnotation]: `${new Date(form.expiresMs).toISOString().slice(0, 19)}Z` };
  return { ...answer, metadata: { ...answer.metadata, annotations }, status: { kubeConfig: text } };
}
