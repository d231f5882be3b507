// SPDX-License-Identifier: MIT
// The frames of a camera, without masks: by WebRTC, or as a sequence of JPEGs where that fails.

import { $ } from './dom.js';

const player = $('video');
const patience = 6000; // ms until the first frame, then JPEGs

// Firefox lacks H.264 until its plugin is installed.
function canDecode() {
  const codecs = window.RTCPeerConnection && RTCRtpReceiver.getCapabilities?.('video')?.codecs;
  return !!codecs?.some((codec) => /h264/i.test(codec.mimeType));
}

export class Video {
  #link;
  #show;
  #peer = null;
  #timer = 0;
  #pictures = null;
  #camera = '';
  #early = [];

  // show(source, time, width, height): each frame that comes; its time is {rtp} or {us}, empty if it is not known.
  constructor(link, show) {
    this.#link = link;
    this.#show = show;
    link.on('offer', ({ sdp }) => this.#answer(sdp).catch(() => this.#fall()));
    link.on('ice', (candidate) => this.#add(candidate));
    link.on('video', () => this.#fall());
    this.#follow();
  }

  // Gives the frames of a camera from now on.
  watch(camera, kind) {
    this.#stop();
    this.#camera = camera;
    const video = kind === 'webrtc' && canDecode() ? 'webrtc' : 'mjpeg';
    this.#link.send('watch', { camera, video, masks: true });
    if (video === 'webrtc') this.#timer = setTimeout(() => this.#fall(), patience);
  }

  #follow() {
    const wait = (f) => player.requestVideoFrameCallback?.(f) ?? requestAnimationFrame(f);
    const next = (now, frame) => {
      const { videoWidth: width, videoHeight: height } = player;
      if (this.#peer && width && height && !this.#pictures) {
        clearTimeout(this.#timer);
        this.#show(player, frame?.rtpTimestamp === undefined ? {} : { rtp: frame.rtpTimestamp }, width, height);
      }
      wait(next);
    };
    wait(next);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#peer?.close();
    this.#peer = null;
    this.#early = [];
    player.srcObject = null;
    this.#pictures?.stop();
    this.#pictures = null;
  }

  #fall() {
    if (this.#pictures) return;
    this.#stop();
    const path = `mjpeg/${encodeURIComponent(this.#camera)}?clean=1`, coming = this.#pictures = { stop() {} };
    // Few browsers need the script.
    import('./pictures.js').then(({ Pictures }) => {
      if (this.#pictures === coming)
        this.#pictures = new Pictures(path, (bitmap, us) => this.#show(bitmap, us ? { us } : {}, bitmap.width, bitmap.height));
    }, () => {
      if (this.#pictures !== coming) return;
      this.#pictures = null;
      this.#timer = setTimeout(() => this.#fall(), patience);
    });
  }

  async #answer(sdp) {
    const peer = new RTCPeerConnection();
    this.#peer?.close();
    this.#peer = peer;
    peer.ontrack = (e) => {
      if ('playoutDelayHint' in e.receiver) e.receiver.playoutDelayHint = 0;
      player.srcObject = new MediaStream([e.track]);
    };
    peer.onicecandidate = (e) => {
      if (e.candidate?.candidate)
        this.#link.send('ice', { candidate: e.candidate.candidate, mline: e.candidate.sdpMLineIndex ?? 0 });
    };
    peer.onconnectionstatechange = () => {
      if (peer === this.#peer && peer.connectionState === 'failed') this.#fall();
    };
    await peer.setRemoteDescription({ type: 'offer', sdp });
    for (const candidate of this.#early.splice(0)) await peer.addIceCandidate(candidate);
    await peer.setLocalDescription(await peer.createAnswer());
    this.#link.send('answer', { sdp: peer.localDescription.sdp });
  }

  #add({ candidate, mline }) {
    const made = { candidate, sdpMLineIndex: mline };
    if (this.#peer?.remoteDescription) this.#peer.addIceCandidate(made).catch(() => {});
    else this.#early.push(made);
  }
}
