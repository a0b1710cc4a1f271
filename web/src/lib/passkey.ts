// Passkeys: the gesture that stands behind a dangerous yes, and how a new one is made.
// Rule: what is signed comes from the host and is shown to nobody; whether it is right is the host's to say.

import type { GestureView, NewPasskey } from "./types";

const bytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer: ArrayBuffer): string =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const named = (id: string): PublicKeyCredentialDescriptor => ({ type: "public-key", id: bytes(id) });

/** Why a passkey cannot be used or made on this page; empty if it can. */
export const noPasskeys = (): string =>
  !window.PublicKeyCredential ? "This browser has no passkeys, or not on this page: they need https, or http://localhost." : "";

const credential = (made: PublicKeyCredential, response: Record<string, string>): object => ({ id: made.id, rawId: text(made.rawId), type: made.type, response });

/** The gesture as the host wants it; null if the person did not make it. */
export async function gesture(step: GestureView): Promise<object | null> {
  if (noPasskeys() || !step.rp_id) return null;
  try {
    const made = await navigator.credentials.get({
      publicKey: { challenge: bytes(step.challenge), rpId: step.rp_id, allowCredentials: step.credentials.map(named), userVerification: "required", timeout: step.expires_in * 1000 },
    });
    if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAssertionResponse)) return null;
    const { clientDataJSON, authenticatorData, signature } = made.response;
    return credential(made, { clientDataJSON: text(clientDataJSON), authenticatorData: text(authenticatorData), signature: text(signature) });
  } catch {
    return null; // not allowed, too late, or no such passkey here: the browser does not tell which
  }
}

/** The header that brings it. */
export async function gestureHeader(step: GestureView): Promise<string | null> {
  const made = await gesture(step);
  return made && `${step.id}.${text(new TextEncoder().encode(JSON.stringify(made)).buffer)}`;
}

/** A new passkey, or null if the person did not make one. */
export async function newPasskey(told: NewPasskey): Promise<object | null> {
  const user = { id: crypto.getRandomValues(new Uint8Array(16)), name: told.user, displayName: told.user };
  try {
    const made = await navigator.credentials.create({
      publicKey: {
        challenge: bytes(told.challenge),
        rp: { id: told.rp_id, name: "yourcall" },
        user,
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: told.known.map(named),
        authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
        attestation: "none",
      },
    });
    if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAttestationResponse)) return null;
    const { clientDataJSON, attestationObject } = made.response;
    return credential(made, { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject) });
  } catch {
    return null;
  }
}
