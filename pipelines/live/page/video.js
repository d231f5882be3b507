// SPDX-License-Identifier: MIT
// The picture: WebRTC, or a sequence of JPEGs where that fails.

import { Pictures } from './pictures.js';

const patience = 6000; // ms until the first frame, then JPEGs

// Firefox lacks H.264 until its plugin is installed.
function canDecode() {
  const codecs = window.RTCPeerConnection && RTCRtpReceiver.getCapabilities?.('video')?.codecs;
  return !!codecs?.some((codec) => /h264/i.test(codec.mimeType));
}

export class Video {
  #link;
  #video;
  #picture;
  #peer = null;
  #timer = 0;
  #pictures = null;
  #camera = '';
  #rtp = null;
  #us = 0;
  #early = [];

  constructor(link, video, picture) {
    this.#link = link;
    this.#video = video;
    this.#picture = picture;
    link.addEventListener('offer', (e) => this.#answer(e.detail.sdp).catch(() => this.#fall()));
    link.addEventListener('ice', (e) => this.#add(e.detail));
    link.addEventListener('video', () => this.#fall());
    if ('requestVideoFrameCallback' in HTMLVideoElement.prototype) this.#follow();
  }

  // Shows a camera from now on.
  watch(camera, kind) {
    this.#stop();
    this.#camera = camera;
    const video = kind === 'webrtc' && canDecode() ? 'webrtc' : 'mjpeg';
    this.#link.send('watch', { camera, video });
    if (video === 'webrtc') this.#timer = setTimeout(() => this.#fall(), patience);
  }

  // Time of the frame on the screen, as a field of a request: its RTP time stamp, or its running time.
  get time() {
    if (this.#pictures) return this.#us ? { us: this.#us } : {};
    return this.#peer && this.#rtp !== null ? { rtp: this.#rtp } : {};
  }

  // Where a point of the element lies in the picture, 0 to 1; null: beside it.
  locate(x, y) {
    const box = this.#video.parentElement.getBoundingClientRect();
    const [w, h] = this.#picture.hidden ? [this.#video.videoWidth, this.#video.videoHeight] :
      [this.#picture.width, this.#picture.height];
    if (!w || !h) return null;
    const scale = Math.min(box.width / w, box.height / h);
    const at = { x: (x - box.left - (box.width - w * scale) / 2) / (w * scale),
      y: (y - box.top - (box.height - h * scale) / 2) / (h * scale) };
    return at.x >= 0 && at.x < 1 && at.y >= 0 && at.y < 1 ? at : null;
  }

  #follow() {
    const next = (now, frame) => {
      if (frame.rtpTimestamp !== undefined) this.#rtp = frame.rtpTimestamp;
      clearTimeout(this.#timer);
      this.#video.requestVideoFrameCallback(next);
    };
    this.#video.requestVideoFrameCallback(next);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#peer?.close();
    this.#peer = null;
    this.#rtp = null;
    this.#early = [];
    this.#video.srcObject = null;
    this.#video.hidden = false;
    this.#pictures?.stop();
    this.#pictures = null;
    this.#us = 0;
    this.#picture.hidden = true;
  }

  #fall() {
    if (this.#pictures) return;
    this.#stop();
    this.#video.hidden = true;
    this.#picture.hidden = false;
    this.#pictures = new Pictures(`mjpeg/${encodeURIComponent(this.#camera)}`, (bitmap, us) => {
      if (this.#picture.width !== bitmap.width) this.#picture.width = bitmap.width;
      if (this.#picture.height !== bitmap.height) this.#picture.height = bitmap.height;
      this.#picture.getContext('2d').drawImage(bitmap, 0, 0);
      this.#us = us;
    });
  }

  async #answer(sdp) {
    const peer = new RTCPeerConnection();
    this.#peer?.close();
    this.#peer = peer;
    peer.ontrack = (e) => {
      if ('playoutDelayHint' in e.receiver) e.receiver.playoutDelayHint = 0;
      this.#video.srcObject = new MediaStream([e.track]);
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
